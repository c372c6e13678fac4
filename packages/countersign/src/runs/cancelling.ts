// Cancels a run.
import { event } from '../core/event.ts';
import type { Drives } from './driving/driving.ts';
import { ENDED } from './driving/wait.ts';
import type { LoadedRun } from './port/store.ts';
import { refusalOf } from './port/store-errors.ts';
import { stateOfRun } from './questions/view.ts';
import { withdrawing } from './questions/withdrawing.ts';
import type { CancelOptions } from './run-options.ts';

/** Returns false if someone else wrote at the same time: then read the run again. */
export async function cancelled(drives: Drives, loaded: LoadedRun, { by, reason }: CancelOptions): Promise<boolean> {
  const { run: record } = loaded;
  const state = await stateOfRun(loaded);
  if (state.ended || (ENDED.has(record.status) && record.status !== 'failed')) return true;
  const { run, journal } = drives.open(record, state, drives.agent(record.agent, state));
  const message = `Cancelled${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`}`;
  const said = { by: by ?? null, note: reason ?? null, at: drives.clock() };
  withdrawing(run, journal, said, () => run.record(event({ type: 'run-ended', reason: 'aborted', message })));
  if (await refusalOf(journal.recorded())) return false;
  if (journal.holds) await journal.finish();
  else drives.look(record.id);
  return true;
}
