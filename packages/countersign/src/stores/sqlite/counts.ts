// How many runs there are in each status, on SQLite: kept up by triggers once it is prepared, within the transactions that
// change the runs, so that it is exact whichever process writes.
import type { RunCounts } from '../../runs/port/store.ts';
import { type CountRow, countsOf } from '../sql/rows.ts';
import type { Job } from './connection.ts';

/** In a transaction, so that no run is left out. */
export const prepareSqliteCounts: Job<void> = (prepare) => {
  if (isPrepared(prepare)) return;
  for (const step of [TABLE, COUNT_ALL, ...TRIGGERS]) prepare(step).get();
};

/** Where nothing was prepared, every run is looked at. */
export const countSqliteRuns: Job<RunCounts> = (prepare) =>
  countsOf(prepare(isPrepared(prepare) ? KEPT : COUNT).all() as unknown as readonly CountRow[]);

const isPrepared: Job<boolean> = (prepare) =>
  prepare("SELECT 1 FROM sqlite_schema WHERE name = 'countersign_run_count'").get() !== undefined;

const TABLE = `CREATE TABLE countersign_run_count (status TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT, WITHOUT ROWID`;

const COUNT = 'SELECT status, count(*) AS count FROM countersign_run GROUP BY status';

const KEPT = 'SELECT status, count FROM countersign_run_count';

const COUNT_ALL = `INSERT INTO countersign_run_count (status, count) ${COUNT}`;

const ADD = `INSERT INTO countersign_run_count (status, count) VALUES (new.status, 1)
  ON CONFLICT (status) DO UPDATE SET count = count + 1`;

const TRIGGERS = [
  `CREATE TRIGGER countersign_run_count_new AFTER INSERT ON countersign_run BEGIN ${ADD}; END`,
  `CREATE TRIGGER countersign_run_count_moved AFTER UPDATE OF status ON countersign_run WHEN old.status <> new.status
   BEGIN
     UPDATE countersign_run_count SET count = count - 1 WHERE status = old.status;
     ${ADD};
   END`,
  `CREATE TRIGGER countersign_run_count_gone AFTER DELETE ON countersign_run
   BEGIN UPDATE countersign_run_count SET count = count - 1 WHERE status = old.status; END`,
] as const;
