// One run with its events, from SQLite.
import { BATCH, IS_THERE, type LoadedRow, loadedRow, RUN_COLUMNS } from '../sql/rows.ts';
import { type Prepare, valuesOf } from './connection.ts';

/** With the events after the first `after`; undefined if there is no such run. */
export function runRow(runId: string, after: number, prepare: Prepare): LoadedRow | undefined {
  const row = prepare(READ, 'arrays').get(after, runId);
  return row === undefined ? undefined : loadedRow(valuesOf(row));
}

const READ = `SELECT ${RUN_COLUMNS.join(', ')}, (
    SELECT group_concat(${BATCH}, char(10) ORDER BY version) FROM countersign_event WHERE run_seq = r.seq AND version > ?
  ) AS batches
  FROM countersign_run r WHERE id = ? AND ${IS_THERE}`;
