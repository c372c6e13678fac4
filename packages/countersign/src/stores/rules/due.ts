// When a run has to be driven although nobody holds it: what `due` looks at.
import type { Append, RunStatus } from '../../runs/port/store.ts';

/**
 * Since when, or from when on, a run is due after this append; null if nobody has to drive it.
 * One that was running before has been due since then: an append does not send it to the end of the queue.
 */
export function dueAfter(
  { status, wakeAt }: Append,
  before: { readonly status: RunStatus; readonly dueAt: number | null } | undefined,
  now: number,
): number | null {
  if (status === 'waiting' || status === 'failed') return wakeAt;
  if (status !== 'running') return null;
  return before?.status === 'running' ? before.dueAt : now;
}
