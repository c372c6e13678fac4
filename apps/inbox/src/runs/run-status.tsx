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

/** `failures`: calls that were approved and have failed: such a run is not simply done. */
export function StatusMark({ status, failures = 0 }: { readonly status: RunStatus; readonly failures?: number }) {
  const hasFailed = status === 'done' && failures > 0;
  const { word, dot } = hasFailed ? { word: failedWords(failures), dot: 'bg-danger' } : STATUSES[status];
  return (
    <span className="inline-flex shrink-0 items-center gap-1.5 text-xs font-medium">
      <span aria-hidden="true" className={`size-2 rounded-full forced-color-adjust-none ${dot}`} />
      {word}
    </span>
  );
}

const failedWords = (failures: number): string => `Done, ${failures} ${failures === 1 ? 'call' : 'calls'} failed`;
