// Ending a run from outside.
import { event } from '../core/event.ts';
import { pendingCards } from './card.ts';
import type { Drives } from './drives.ts';
import type { CancelOptions } from './run-options.ts';
import type { LoadedRun } from './store.ts';
import { refusalOf } from './store-errors.ts';
import { stateOfRun } from './view.ts';
import { ENDED } from './waiting.ts';

/** False if somebody wrote at the same time, and everything must be looked at again. */
export async function cancelled(drives: Drives, loaded: LoadedRun, { by, reason }: CancelOptions): Promise<boolean> {
  const { run: record } = loaded;
  const state = stateOfRun(loaded);
  if (state.ended || (ENDED.has(record.status) && record.status !== 'failed')) return true;
  const { run, journal } = drives.open(record, state, drives.agent(record.agent), { onStale: 'fail' });
  const withdrawn = { withdrawn: true, by: by ?? null, note: reason ?? null };
  for (const key of pendingCards(record.id, state).keys()) journal.settle(key, { ...withdrawn, at: drives.clock() });
  const message = `Cancelled${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`}`;
  run.record(event({ type: 'run-ended', reason: 'aborted', message }));
  if (await refusalOf(journal.recorded())) return false;
  if (journal.holds) await journal.finish();
  else drives.look(record.id);
  return true;
}
