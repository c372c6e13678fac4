// The lists of runs and requests as SQL that both SQL stores understand: pages by key, read along one index.
import type { RequestOutcome, RequestQuery, RunQuery } from '../../runs/port/store.ts';
import { askedKeys } from '../rules/deciders.ts';
import { type Place, readPageRequest } from '../rules/page.ts';
import { searchWords } from '../rules/search-text.ts';
import { EXISTS } from './rows.ts';

export type Sql = { readonly text: string; readonly values: readonly (string | number)[] };

export type Dialect = {
  readonly runs: string;
  /** The columns of a run `r`, as `RunRow` names them. */
  readonly runColumns: string;
  readonly requests: string;
  /** The columns of an request `i`, as `RequestRow` names them. */
  readonly interruptColumns: string;
  /** How the value number `index`, counted from 1, is written. */
  readonly value: (index: number) => string;
  /** True if the request `i` has the label. */
  readonly hasLabel: (label: string) => string;
  /** True if the request `i` has one of these keys, a JSON array, written so that an index finds them. */
  readonly hasKey: (keys: string, isSettled: boolean, within: Within) => string;
  /** True if the text contains the word. */
  readonly contains: (text: string, word: string) => string;
  /** Ends a page with the row that makes it large, where rows come all at once. `order`: of the columns of the page. */
  readonly endAtSize?: (page: string, order: string, size: string) => string;
  /** True if the request `i` belongs to the run, written so that only the run's requests are read. */
  readonly ofRun: (runId: string) => string;
};

/** Conditions for the times and places of the list, on the columns of this table. */
export type Within = (table: string) => readonly string[];

/** How many rows a store looks at before other work of its process has its turn. A word of a search reads a long text in each. */
export function rowsAtOnce(words: number): number {
  return Math.max(MOST_AT_ONCE / 40, Math.floor(MOST_AT_ONCE / (1 + words)));
}

const MOST_AT_ONCE = 2_000;

/** The rows of a list that are looked at in one statement: those after one place, up to another. */
export type Stretch = { readonly after?: Place | undefined; readonly until?: Place | undefined };

/** Selects one row more than the page holds, in the order of creation. */
export function runsSql(query: RunQuery, dialect: Dialect, stretch: Stretch = {}): Sql {
  const { after: start, limit } = readPageRequest(query);
  const { after = start, until } = stretch;
  const values: (string | number)[] = [];
  const value = (item: string | number): string => dialect.value(values.push(item));
  const oldest = query.order === 'oldest';
  const conditions = [`r.${EXISTS}`];
  const filters = { status: query.status, agent: query.agent, started_by: query.startedBy };
  for (const [column, wanted] of Object.entries(filters)) {
    if (wanted !== undefined) conditions.push(opaque(`r.${column} = ${value(wanted)}`));
  }
  if (after !== undefined) conditions.push(`r.seq ${oldest ? '>' : '<'} ${value(after.seq)}`);
  if (until !== undefined) conditions.push(`r.seq ${oldest ? '<=' : '>='} ${value(until.seq)}`);
  const text = `SELECT ${dialect.runColumns} FROM ${dialect.runs} r WHERE ${conditions.join(' AND ')}
    ORDER BY r.seq ${oldest ? 'ASC' : 'DESC'} LIMIT ${value(limit + 1)}`;
  const order = `seq ${oldest ? 'ASC' : 'DESC'}`;
  return { text: dialect.endAtSize?.(text, order, 'length(outcome)') ?? text, values };
}

/** Selects one row more than the page holds. */
export function requestsSql(query: RequestQuery, dialect: Dialect, stretch: Stretch = {}): Sql {
  const { after: start, limit } = readPageRequest(query);
  const { after = start, until } = stretch;
  const direction = query.order === 'newest' ? 'DESC' : 'ASC';
  const values: (string | number)[] = [];
  const value = (item: string | number): string => dialect.value(values.push(item));

  const state = query.settled === true ? 'i.settled_at IS NOT NULL' : 'i.settled_at IS NULL';
  const within: Within = (table) => {
    const { createdBefore, createdAfter } = query;
    const place = ({ createdAt, seq }: Place) => `(${value(createdAt)}, ${value(seq)})`;
    const [later, upTo] = direction === 'DESC' ? ['<', '>='] : ['>', '<='];
    return [
      ...(createdBefore === undefined ? [] : [`${table}.created_at < ${value(createdBefore)}`]),
      ...(createdAfter === undefined ? [] : [`${table}.created_at > ${value(createdAfter)}`]),
      ...(after === undefined ? [] : [`(${table}.created_at, ${table}.seq) ${later} ${place(after)}`]),
      ...(until === undefined ? [] : [`(${table}.created_at, ${table}.seq) ${upTo} ${place(until)}`]),
    ];
  };
  const conditions = [query.runId === undefined ? state : opaque(state), ...within('i')];
  const { deciders } = query;
  if (deciders) {
    const keys = value(JSON.stringify(askedKeys(deciders)));
    conditions.push(dialect.hasKey(keys, query.settled === true, within));
  }
  for (const [column, wanted] of Object.entries({
    agent: query.agent,
    tool: query.tool,
    kind: query.kind,
    risk: query.risk,
    started_by: query.startedBy,
  })) {
    if (wanted !== undefined) conditions.push(opaque(`i.${column} = ${value(wanted)}`));
  }
  if (query.label !== undefined) conditions.push(opaque(dialect.hasLabel(value(query.label))));
  for (const word of searchWords(query.search)) conditions.push(opaque(dialect.contains('i.search_text', value(word))));
  // A pending request has no outcome.
  if (query.outcome !== undefined)
    conditions.push(query.settled === true ? opaque(outcomeSql(query.outcome)) : 'FALSE');
  if (query.runId !== undefined) conditions.push(dialect.ofRun(value(query.runId)));

  const text = `SELECT ${dialect.interruptColumns} FROM ${dialect.requests} i WHERE ${conditions.join(' AND ')}
    ORDER BY i.created_at ${direction}, i.seq ${direction} LIMIT ${value(limit + 1)}`;
  const order = `created_at ${direction}, seq ${direction}`;
  const size = 'length(card) + coalesce(length(settlement), 0) + coalesce(length(progress), 0)';
  return { text: dialect.endAtSize?.(text, order, size) ?? text, values };
}

/**
 * Hides a condition from the planner. A planner that expects few matches reads and sorts everything; one that cannot tell
 * walks along the list, which costs the same in the worst case and next to nothing in the usual one.
 */
function opaque(condition: string): string {
  return `coalesce(${condition}, FALSE)`;
}

/** `hasOutcome` on the columns of an request `i`. */
function outcomeSql(asked: RequestOutcome): string {
  if (asked === 'edited' || asked === 'expired') return `i.${asked} = 1`;
  return asked === 'cancelled' ? `i.outcome IN ('cancelled', 'withdrawn')` : `i.outcome = '${asked}'`;
}
