// Below the list while something is selected: how much, and the way to the table.
import { X } from 'lucide-react';

type SelectionBarProps = {
  readonly count: number;
  readonly onReview: () => void;
  readonly onClear: () => void;
};

export function SelectionBar({ count, onReview, onClear }: SelectionBarProps) {
  return (
    <div className="flex shrink-0 items-center gap-2 border-t border-line bg-surface px-3 py-2">
      <button type="button" className="button-quiet" onClick={onClear}>
        <X aria-hidden="true" className="size-4" />
        <span className="sr-only">Clear the selection</span>
      </button>
      <span role="status" className="flex-1 font-medium tabular-nums">
        {count} selected
      </span>
      <button type="button" className="button-primary" onClick={onReview}>
        Compare and decide
      </button>
    </div>
  );
}
