// Settled requests in the order of their settlement, as SQL that both SQL stores understand: what the statistics count.
import type { CountedRequest } from '../rules/count-stats.ts';

export type SettledRow = CountedRequest & { readonly seq: number };

/** How many rows are read at once, so that other work of the process has its turn. */
export const SETTLED_AT_ONCE = 2_000;

/** The values: the end of the time, and the time and the number of the row before; both included at the number -1. */
export const settledSql = (requests: string, value: (index: number) => string, number: (column: string) => string) =>
  `SELECT ${number('seq')} AS seq, tool, agent, started_by AS "startedBy", ${number('created_at')} AS "createdAt",
    ${number('settled_at')} AS "settledAt", outcome
  FROM ${requests} WHERE settled_at IS NOT NULL AND settled_at <= ${value(1)}
    AND settled_at >= ${value(2)} AND (settled_at, seq) > (${value(3)}, ${value(4)})
  ORDER BY settled_at, seq LIMIT ${SETTLED_AT_ONCE}`;

export const firstSettledSql = (requests: string, value: string, number: (column: string) => string) =>
  `SELECT ${number('settled_at')} AS at FROM ${requests} WHERE settled_at IS NOT NULL AND settled_at >= ${value}
  ORDER BY settled_at LIMIT 1`;

/** Calls `add` with each of them. `read`: the rows for such values. */
export async function eachSettled(
  since: number,
  until: number,
  add: (row: CountedRequest) => void,
  read: (values: readonly number[]) => Promise<readonly SettledRow[]>,
): Promise<void> {
  for (let [at, seq] = [since, -1]; ; ) {
    const rows = await read([until, at, at, seq]);
    for (const row of rows) add(row);
    const last = rows.at(-1);
    if (last === undefined || rows.length < SETTLED_AT_ONCE) return;
    ({ settledAt: at, seq } = last);
  }
}
