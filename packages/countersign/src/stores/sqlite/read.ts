// One run with its events, from SQLite.
import { BATCH, EXISTS, type LoadedRow, RUN_COLUMNS } from '../sql/rows.ts';
import type { Job } from './connection.ts';

const ALL = -1;

/** The run with at most `limit` batches of events after the first `after`; undefined if it does not exist. */
export function readRun(runId: string, after: number, limit = ALL): Job<LoadedRow | undefined> {
  return (prepare) => prepare(READ).get(after, limit, runId) as LoadedRow | undefined;
}

const READ = `SELECT ${RUN_COLUMNS.join(', ')}, (
    SELECT group_concat(${BATCH}, char(10) ORDER BY version) FROM (
      SELECT events, version FROM countersign_event WHERE run_seq = r.seq AND version > ? ORDER BY version LIMIT ?
    )
  ) AS batches
  FROM countersign_run r WHERE id = ? AND ${EXISTS}`;
