// The four ways a decision can go, their colours, and the key to them.
import type { Outcomes } from '../api/wire.ts';

export const OUTCOMES: readonly {
  readonly name: keyof Outcomes;
  readonly word: string;
  readonly fill: string;
  readonly background: string;
}[] = [
  { name: 'approved', word: 'Approved', fill: 'fill-approved', background: 'bg-approved' },
  { name: 'rejected', word: 'Rejected', fill: 'fill-rejected', background: 'bg-rejected' },
  { name: 'answered', word: 'Answered', fill: 'fill-answered', background: 'bg-answered' },
  { name: 'cancelled', word: 'Cancelled', fill: 'fill-cancelled', background: 'bg-cancelled' },
];

export function OutcomeKeys() {
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
      {OUTCOMES.map(({ name, word, background }) => (
        <li key={name} className="inline-flex items-center gap-1.5">
          <span aria-hidden="true" className={`size-2.5 rounded-sm forced-color-adjust-none ${background}`} />
          {word}
        </li>
      ))}
    </ul>
  );
}
