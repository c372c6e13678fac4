// Two lists of what is pending: what waits for the user, and what waits for others.
import type { RequestCount } from '../api/wire.ts';
import { countText } from './request-count.ts';

type TurnTabsProps = {
  readonly view: string;
  readonly mine: RequestCount | undefined;
  readonly others: RequestCount | undefined;
  readonly onChange: (view: string) => void;
};

export function TurnTabs({ view, mine, others, onChange }: TurnTabsProps) {
  const tabs = [
    { value: '', label: 'For you', count: mine },
    { value: 'others', label: 'Waiting for others', count: others },
  ];
  return (
    <fieldset aria-label="Whose turn" className="flex shrink-0 gap-1 border-b border-line px-3 pt-2">
      {tabs.map(({ value, label, count }) => (
        <button
          key={value}
          type="button"
          aria-pressed={view === value}
          className="-mb-px flex min-h-9 items-center gap-1.5 border-b-2 border-transparent px-2 text-muted hover:text-ink aria-pressed:border-accent aria-pressed:font-medium aria-pressed:text-ink max-md:min-h-11"
          onClick={() => onChange(value)}
        >
          {label}
          {count && (
            <span className="text-xs font-normal text-muted tabular-nums">
              {countText(count)}
              <span className="sr-only"> waiting</span>
            </span>
          )}
        </button>
      ))}
    </fieldset>
  );
}
