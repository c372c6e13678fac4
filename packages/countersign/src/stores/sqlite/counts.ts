// Counts runs and requests in stretches of rows: SQLite answers synchronously, and there is a row for all that ever happened.
import { setImmediate } from 'node:timers/promises';
import type { RunCounts, RunStatus } from '../../runs/port/store.ts';
import { type PendingTool, pendingRows } from '../rules/count-stats.ts';
import { STARTER } from '../rules/deciders.ts';
import { SettledParts } from '../rules/settled-parts.ts';
import type { StatsRow } from '../rules/stats.ts';
import { rowsAtOnce } from '../sql/list-query.ts';
import { countsOf } from '../sql/rows.ts';
import { eachSettled, firstSettledSql, type SettledRow, settledSql } from '../sql/settled-query.ts';
import type { SqliteConnection } from './connection.ts';

const AT_ONCE = rowsAtOnce(0);

export function settledParts(connection: SqliteConnection): SettledParts {
  return new SettledParts(
    (since, until, add) =>
      eachSettled(since, until, add, async (values) => {
        const rows = await connection.read((prepare) => prepare(SQL.settled).all(...values));
        await setImmediate();
        return rows as unknown as readonly SettledRow[];
      }),
    async (since) => {
      const row = await connection.read((prepare) => prepare(SQL.firstSettled).get(since));
      return row && Number(row.at);
    },
  );
}

/** Those of one starter are found by their key. */
export async function countedPending(
  connection: SqliteConnection,
  startedBy: string | undefined,
): Promise<readonly StatsRow[]> {
  const rows = await connection.read((prepare) =>
    startedBy === undefined ? prepare(SQL.pending).all() : prepare(SQL.pendingOf).all(STARTER + startedBy),
  );
  return pendingRows(rows as unknown as readonly PendingTool[]);
}

export async function countedRuns(connection: SqliteConnection): Promise<RunCounts> {
  const counts = new Map<RunStatus, number>();
  for (let after = 0; ; ) {
    const rows = await connection.read((prepare) => prepare(SQL.runs).all(after) as unknown as readonly RunRow[]);
    for (const { status } of rows) counts.set(status, (counts.get(status) ?? 0) + 1);
    const last = rows.at(-1);
    if (last === undefined || rows.length < AT_ONCE)
      return countsOf([...counts].map(([status, count]) => ({ status, count })));
    after = last.seq;
    await setImmediate();
  }
}

type RunRow = { readonly seq: number; readonly status: RunStatus };

const OLDEST = 'SELECT min(created_at) FROM countersign_request WHERE settled_at IS NULL';
const column = (name: string): string => name;

const SQL = {
  pending: `SELECT tool, count AS waiting, (${OLDEST}) AS oldest_at FROM countersign_pending`,
  pendingOf: `SELECT i.tool, count(*) AS waiting, min(i.created_at) AS oldest_at
    FROM countersign_decider d CROSS JOIN countersign_request i ON i.seq = d.seq
    WHERE d.key = ? AND d.settled = 0 GROUP BY i.tool`,
  settled: settledSql('countersign_request', () => '?', column),
  firstSettled: firstSettledSql('countersign_request', '?', column),
  /** Selects the next stretch. */
  runs: `SELECT seq, status FROM countersign_run WHERE seq > ? ORDER BY seq LIMIT ${AT_ONCE}`,
};
