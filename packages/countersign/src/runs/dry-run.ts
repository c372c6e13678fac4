// Trying out what would come of something before any of it goes on record.
import type { State } from '../core/state.ts';
import type { Run } from '../loop/run.ts';
import type { Sink } from '../loop/sink.ts';
import { StoredRun } from '../loop/stored-run.ts';
import type { Settling } from './questions/expiry.ts';

/** Throws what `act` throws; nothing of it is kept. */
export function tryOut(runId: string, state: State, act: (run: Run, settling: Settling) => void): void {
  act(new StoredRun(state, NOWHERE), { runId, settle: () => undefined });
}

const NOWHERE: Sink = { write: () => undefined, flushed: async () => undefined, isHeld: () => true };
