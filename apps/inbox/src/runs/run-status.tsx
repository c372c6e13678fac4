// The status of a run as a word with a coloured dot.
import type { RunStatus } from '../api/wire.ts';

const STATUSES: Readonly<Record<RunStatus, { readonly word: string; readonly dot: string }>> = {
  running: { word: 'Running', dot: 'bg-answered motion-safe:animate-pulse' },
  waiting: { word: 'Waiting', dot: 'bg-waiting' },
  done: { word: 'Done', dot: 'bg-approved' },
  failed: { word: 'Failed', dot: 'bg-danger' },
  cancelled: { word: 'Cancelled', dot: 'bg-cancelled' },
};

export const STATUS_NAMES = Object.entries(STATUSES).map(([value, { word }]) => ({ value, label: word }));

/** Ended, though the user may send another message or retry. */
export const isOver = ({ status }: { readonly status: RunStatus }): boolean =>
  status === 'done' || status === 'cancelled' || status === 'failed';

export function StatusMark({ status }: { readonly status: RunStatus }) {
  const { word, dot } = STATUSES[status];
  return (
    <span className="inline-flex shrink-0 items-center gap-1.5 text-xs font-medium">
      <span aria-hidden="true" className={`size-2 rounded-full forced-color-adjust-none ${dot}`} />
      {word}
    </span>
  );
}
