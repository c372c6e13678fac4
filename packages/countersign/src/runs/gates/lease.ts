// The lease of a start that a program outside was granted, and its renewal.
import { hostUntil } from '../../core/run/call.ts';
import { event } from '../../core/run/event.ts';
import type { Drives } from '../driving/driving.ts';
import { unknownRun } from '../port/run-id.ts';
import { refuseLarge } from '../port/run-limit.ts';
import type { LoadedRun } from '../port/store.ts';
import { loadRun, record } from '../requests/recording.ts';

/** `start`: the hash of the token. */
export function wasGranted({ events }: LoadedRun, start: string): boolean {
  return events.some((told) => told.type === 'call-started' && told.host?.start === start);
}

/**
 * Records a later end, and returns it; never an earlier one. `ended`: the lease is over, even if nobody was asked about it yet, or the
 * call has a result. `changed`: someone else wrote at the same time, so read the run again.
 */
export async function extended(
  drives: Drives,
  loaded: LoadedRun,
  start: string,
  leaseMs: number,
): Promise<number | 'ended' | 'changed'> {
  const { id } = loaded.run;
  const read = await loadRun(drives, id, () => unknownRun(id), loaded);
  const call = read.state.turn?.calls.find(({ phase }) => phase.at === 'started' && phase.host?.start === start);
  const ends = call && hostUntil(call);
  const now = drives.clock();
  if (!call || ends === undefined || ends <= now) return 'ended';
  const until = now + leaseMs;
  if (until <= ends) return ends;
  const fact = event({ type: 'call-renewed', callId: call.id, host: { until, start } });
  // Its result can still be recorded when the run is full.
  refuseLarge(drives.runLimit, read, [fact], 'message');
  return (await record(drives, read, (run) => run.record(fact), { drive: false }, 'no')) ? 'changed' : until;
}
