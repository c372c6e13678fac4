// A risk as a coloured dot and a word: never by colour alone.
import type { Risk } from '../api/wire.ts';

const TONES = {
  high: { dot: 'bg-danger', text: 'text-danger font-medium', word: 'High risk' },
  medium: { dot: 'bg-warning', text: 'text-warning', word: 'Medium risk' },
  low: { dot: 'bg-cancelled', text: 'text-muted', word: 'Low risk' },
} as const;

export function RiskMark({ risk }: { readonly risk: Risk }) {
  const { dot, text, word } = TONES[risk];
  return (
    <span className={`inline-flex shrink-0 items-center gap-1.5 ${text}`}>
      <span aria-hidden="true" className={`size-2 rounded-full forced-color-adjust-none ${dot}`} />
      {word}
    </span>
  );
}
