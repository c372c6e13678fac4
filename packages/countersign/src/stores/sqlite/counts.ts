// Counts runs and requests in stretches of rows: SQLite answers synchronously, and there is a row for all that ever happened.
import { setImmediate } from 'node:timers/promises';
import type { Stats } from '../../runs/port/stats.ts';
import type { RunCounts, RunStatus } from '../../runs/port/store.ts';
import { type CountedRequest, StatsCount } from '../rules/count-stats.ts';
import { type StatsRequest, statsOf } from '../rules/stats.ts';
import { rowsAtOnce } from '../sql/list-query.ts';
import { countsOf } from '../sql/rows.ts';
import type { SqliteConnection } from './connection.ts';

const AT_ONCE = rowsAtOnce(0);

/** The pending requests come first. One that is settled meanwhile is settled after the period. */
export async function countedStats(connection: SqliteConnection, request: StatsRequest): Promise<Stats> {
  const count = new StatsCount(request);
  const add = (row: RequestRow): void => count.add(row);
  const { since, until } = request;
  await eachRow(connection, SQL.pending, ({ createdAt, seq }) => [createdAt, seq], add, [Number.MIN_SAFE_INTEGER, 0]);
  await eachRow(connection, SQL.settled, ({ settledAt, seq }) => [until, settledAt ?? 0, seq], add, [until, since, 0]);
  return statsOf(count.rows(), request);
}

export async function countedRuns(connection: SqliteConnection): Promise<RunCounts> {
  const counts = new Map<RunStatus, number>();
  const add = ({ status }: RunRow): unknown => counts.set(status, (counts.get(status) ?? 0) + 1);
  await eachRow<RunRow>(connection, SQL.runs, ({ seq }) => [seq], add, [0]);
  return countsOf([...counts].map(([status, count]) => ({ status, count })));
}

type RequestRow = CountedRequest & { readonly seq: number };
type RunRow = { readonly seq: number; readonly status: RunStatus };

const REQUESTS = `SELECT seq, tool, agent, started_by AS startedBy, created_at AS createdAt, settled_at AS settledAt, outcome
  FROM countersign_request`;

/** Each selects the next stretch. */
const SQL = {
  pending: `${REQUESTS} WHERE settled_at IS NULL AND (created_at, seq) > (?, ?)
    ORDER BY created_at, seq LIMIT ${AT_ONCE}`,
  settled: `${REQUESTS} WHERE settled_at IS NOT NULL AND settled_at <= ? AND (settled_at, seq) > (?, ?)
    ORDER BY settled_at, seq LIMIT ${AT_ONCE}`,
  runs: `SELECT seq, status FROM countersign_run WHERE seq > ? ORDER BY seq LIMIT ${AT_ONCE}`,
};

/** `valuesAfter`: those of the stretch that begins after a row. `first`: those of the first stretch. */
async function eachRow<Row = RequestRow>(
  connection: SqliteConnection,
  text: string,
  valuesAfter: (last: Row) => readonly number[],
  add: (row: Row) => unknown,
  first: readonly number[],
): Promise<void> {
  for (let values: readonly number[] = first; ; ) {
    const rows = await connection.read((prepare) => prepare(text).all(...values) as unknown as readonly Row[]);
    for (const row of rows) add(row);
    const last = rows.at(-1);
    if (last === undefined || rows.length < AT_ONCE) return;
    values = valuesAfter(last);
    await setImmediate();
  }
}
