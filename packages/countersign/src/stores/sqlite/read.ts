// One run with a page of its events, from SQLite.
import { EXISTS, type LoadedRow, pageOfBatches, RUN_COLUMNS } from '../sql/rows.ts';
import type { Job } from './connection.ts';

/** The run with a page of at most `limit` batches of events after the first `after`; undefined if it does not exist. */
export function readRun(runId: string, after: number, limit: number): Job<LoadedRow | undefined> {
  return (prepare) => prepare(READ).get(after, limit, runId) as LoadedRow | undefined;
}

const BATCHES =
  'SELECT events, version FROM countersign_event WHERE run_seq = r.seq AND version > ? ORDER BY version LIMIT ?';

const READ = `SELECT ${RUN_COLUMNS.join(', ')}, ${pageOfBatches(BATCHES, 'group_concat', 'char(10)')} AS batches
  FROM countersign_run r WHERE id = ? AND ${EXISTS}`;
