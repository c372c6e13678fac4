// Cancels a run.

import { ConflictError } from '../core/errors.ts';
import { hostUntil, isInDoubt } from '../core/run/call.ts';
import { event } from '../core/run/event.ts';
import type { Drives } from './driving/driving.ts';
import { ENDED } from './driving/wait.ts';
import type { LoadedRun } from './port/store.ts';
import { refusalOf } from './port/store-errors.ts';
import { stateOfRun } from './requests/view.ts';
import { withdrawing } from './requests/waiting/withdrawing.ts';
import type { CancelOptions } from './run-options.ts';

/**
 * Throws `call-started` if a program outside has started the call of the run: nobody can stop it, and what it did must become known.
 * Returns false if someone else wrote at the same time: then read the run again.
 */
export async function cancelled(drives: Drives, loaded: LoadedRun, { by, reason }: CancelOptions): Promise<boolean> {
  const { run: record } = loaded;
  const state = await stateOfRun(loaded);
  if (state.ended || (ENDED.has(record.status) && record.status !== 'failed')) return true;
  if (state.outside && state.turn?.calls.some((call) => hostUntil(call) !== undefined || isInDoubt(call)))
    throw callStarted(record.id);
  const { run, journal } = drives.open(record, state, drives.agent(record.agent, state));
  const message = `Cancelled${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`}`;
  const said = { by: by ?? null, note: reason ?? null, at: drives.clock() };
  withdrawing(run, journal, said, () => run.record(event({ type: 'run-ended', reason: 'aborted', message })));
  if (await refusalOf(journal.recorded())) return false;
  if (journal.holds) await journal.finish();
  else drives.look(record.id);
  return true;
}

const callStarted = (runId: string): ConflictError =>
  new ConflictError(
    'call-started',
    { runId },
    `The call of run ${runId} was started by a program outside and cannot be cancelled. Wait for its result, or answer the request about its outcome.`,
  );
