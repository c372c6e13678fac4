// The list of runs as SQL that both SQL stores understand.
import type { RunQuery } from '../../runs/port/store.ts';
import { readPageRequest } from '../rules/page.ts';
import type { Sql } from './list-query.ts';
import { EXISTS } from './rows.ts';

export type RunsDialect = {
  /** The columns of a run `r`, as `RunRow` names them. */
  readonly columns: string;
  readonly runs: string;
  /** How the value number `index`, counted from 1, is written. */
  readonly value: (index: number) => string;
};

/** Selects one row more than the page holds, from the order of creation: see `interruptsSql`. */
export function runsSql(query: RunQuery, dialect: RunsDialect): Sql {
  const { after, limit } = readPageRequest(query);
  const values: (string | number)[] = [];
  const value = (item: string | number): string => dialect.value(values.push(item));
  const oldest = query.order === 'oldest';
  const conditions = [`r.${EXISTS}`];
  const filters = { status: query.status, agent: query.agent, started_by: query.startedBy };
  for (const [column, wanted] of Object.entries(filters)) {
    if (wanted !== undefined) conditions.push(`coalesce(r.${column} = ${value(wanted)}, FALSE)`);
  }
  if (after !== undefined) conditions.push(`r.seq ${oldest ? '>' : '<'} ${value(after.seq)}`);
  const text = `SELECT ${dialect.columns} FROM ${dialect.runs} r WHERE ${conditions.join(' AND ')}
    ORDER BY r.seq ${oldest ? 'ASC' : 'DESC'} LIMIT ${value(limit + 1)}`;
  return { text, values };
}
