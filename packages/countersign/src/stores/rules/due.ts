// When a run has to be driven, and when an untold request comes again.
import type { Append, RunStatus } from '../../runs/port/store.ts';

/**
 * Since when, or from when on, a run is due after this append; null if nothing has to be done. A run that was running
 * before stays due since then: an append does not move it to the end of the queue.
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

/** The lease of an untold request doubles with each attempt, this many times at most. */
export const MOST_DOUBLINGS = 6;

/** How long after this attempt, counted from 1, the next may follow. */
export function pauseAfter(attempt: number, leaseMs: number): number {
  return Math.ceil(leaseMs) * 2 ** Math.min(attempt - 1, MOST_DOUBLINGS);
}
