// One run with its events, from SQLite.
import { recordDigest } from '../../runs/port/record-digest.ts';
import { BATCH, IS_THERE, type LoadedRow, loadedRow, RUN_COLUMNS } from '../sql/rows.ts';
import { type Prepare, valuesOf } from './connection.ts';

/** With the events after the first `after`; undefined if there is no such run. */
export function runRow(runId: string, after: number, prepare: Prepare): LoadedRow | undefined {
  const row = prepare(READ, 'arrays').get(after, runId);
  return row === undefined ? undefined : loadedRow(valuesOf(row));
}

/** All that is on record of the run at this moment; undefined if there is no such run. */
export function digestOfRun(runId: string, prepare: Prepare): string | undefined {
  const row = prepare(READ_LISTS, 'arrays').get(0, runId);
  if (row === undefined) return undefined;
  const { batches, started_by, ...run } = loadedRow(valuesOf(row));
  return recordDigest(batches ?? '', { ...run, startedBy: started_by });
}

const reading = (batch: string): string => `SELECT ${RUN_COLUMNS.join(', ')}, (
    SELECT group_concat(${batch}, char(10) ORDER BY version) FROM countersign_event WHERE run_seq = r.seq AND version > ?
  ) AS batches
  FROM countersign_run r WHERE id = ? AND ${IS_THERE}`;

const READ = reading(BATCH);

/** As they are digested: without their versions. */
const READ_LISTS = reading('events');
