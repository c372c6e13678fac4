// The headline of similar requests in the list: how many there are, and a way to decide them together.
import { inWords, VisibleText } from '@countersign/react';
import { ChevronRight, Layers } from 'lucide-react';
import type { ApiRequest } from '../api/wire.ts';

type GroupHeaderProps = {
  readonly items: readonly ApiRequest[];
  /** The list has more, and some of it may belong here: how many there are is known once they are compared. */
  readonly hasMore: boolean;
  readonly isClosed: boolean;
  readonly onToggle: () => void;
  readonly onReview: () => void;
};

export function GroupHeader({ items, hasMore, isClosed, onToggle, onReview }: GroupHeaderProps) {
  const [first] = items;
  if (!first) return null;
  return (
    <li className="sticky top-0 z-10 flex items-center gap-2 border-b border-line bg-sunken py-1.5 pr-3 pl-2">
      <button
        type="button"
        aria-expanded={!isClosed}
        className="flex min-h-8 min-w-0 flex-1 items-center gap-1.5 rounded-md text-left max-md:min-h-11"
        onClick={onToggle}
      >
        <ChevronRight
          aria-hidden="true"
          className={`size-4 shrink-0 text-muted motion-safe:transition-transform ${isClosed ? '' : 'rotate-90'}`}
        />
        <Layers aria-hidden="true" className="size-4 shrink-0 text-muted" />
        <span className="truncate font-medium">
          {hasMore ? 'Similar' : `${items.length} similar`}: <VisibleText text={inWords(first.tool)} />
        </span>
      </button>
      <button type="button" className="button" onClick={onReview}>
        Decide together
      </button>
    </li>
  );
}
