// Tries a change on a run without recording it.
import type { RunEvent } from '../../core/run/event.ts';
import type { State } from '../../core/run/state.ts';
import type { Run } from '../../loop/run.ts';
import type { Sink } from '../../loop/sink.ts';
import { StoredRun } from '../../loop/stored-run.ts';
import type { Settling } from './expiry.ts';

/** Returns the events that `act` would record, or throws what it throws. Nothing is recorded. */
export function dryRun(runId: string, state: State, act: (run: Run, settling: Settling) => void): readonly RunEvent[] {
  const events: RunEvent[] = [];
  const sink: Sink = {
    write: (added) => void events.push(...added),
    flushed: async () => undefined,
    isHeld: () => true,
  };
  act(new StoredRun(state, sink), { runId, settle: () => undefined });
  return events;
}
