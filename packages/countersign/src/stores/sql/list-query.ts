// The lists of runs and requests as SQL that both SQL stores understand: pages by key, read along one index.
import type { RequestOutcome, RequestQuery, RunQuery } from '../../runs/port/store.ts';
import { askedKeys } from '../rules/deciders.ts';
import { LETS_NOTHING_RUN, OTHER_NAMES } from '../rules/outcomes.ts';
import { isBySettlement, type Place, readPageRequest } from '../rules/page.ts';
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
  /**
   * True if the request `i` has one of these keys, a JSON array, written so that an index finds them. Without `within`, the list has
   * another order than the keys.
   */
  readonly hasKey: (keys: string, isSettled: boolean, within: Within | undefined) => string;
  /** The requests `i` at the places `d` with one of these keys, each once, in this order. `most`: a page has at most so many. */
  readonly withKeys?: (
    keys: readonly string[],
    isSettled: boolean,
    within: Within,
    order: string,
    most: number | undefined,
  ) => string;
  /** True if the number of the request `i` is in this JSON array, where searches have an index. */
  readonly among?: (seqs: string) => string;
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

/** The lists of this many keys are merged, each read in its order. With more keys, all that is found is sorted. */
export const MOST_MERGED = 100;

/**
 * The rows of a list that are looked at in one statement: those after one place, up to another. `among`: only requests with these
 * numbers, a JSON array.
 */
export type Stretch = {
  readonly after?: Place | undefined;
  readonly until?: Place | undefined;
  readonly among?: string | undefined;
};

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
  const { after = start, until, among } = stretch;
  const direction = query.order === 'newest' ? 'DESC' : 'ASC';
  const values: (string | number)[] = [];
  const value = (item: string | number): string => dialect.value(values.push(item));

  const state = query.settled === true ? 'i.settled_at IS NOT NULL' : 'i.settled_at IS NULL';
  const bySettlement = isBySettlement(query);
  const time = timeOf(query);
  const within: Within = (table) => {
    const { createdBefore, createdAfter, settledSince, settledBefore } = query;
    const place = ({ createdAt, seq }: Place) => `(${value(createdAt)}, ${value(seq)})`;
    const [later, upTo] = direction === 'DESC' ? ['<', '>='] : ['>', '<='];
    return [
      ...(createdBefore === undefined ? [] : [`${table}.created_at < ${value(createdBefore)}`]),
      ...(createdAfter === undefined ? [] : [`${table}.created_at > ${value(createdAfter)}`]),
      ...(settledSince === undefined ? [] : [`${table}.settled_at >= ${value(settledSince)}`]),
      ...(settledBefore === undefined ? [] : [`${table}.settled_at < ${value(settledBefore)}`]),
      ...(after === undefined ? [] : [`(${table}.${time}, ${table}.seq) ${later} ${place(after)}`]),
      ...(until === undefined ? [] : [`(${table}.${time}, ${table}.seq) ${upTo} ${place(until)}`]),
    ];
  };
  const order = `${time} ${direction}, seq ${direction}`;
  const isSettled = query.settled === true;
  const asked = query.deciders && askedKeys(query.deciders);
  // The requests of one run are few.
  const { agent, tool, kind, risk, startedBy, label, search, outcome } = query;
  const hasFilter = [agent, tool, kind, risk, startedBy, label, search, outcome].some((wanted) => wanted !== undefined);
  const most = hasFilter ? undefined : limit + 1;
  const isMerged = query.runId === undefined && !bySettlement && asked !== undefined && asked.length <= MOST_MERGED;
  const named = isMerged && dialect.withKeys?.(asked.map(value), isSettled, within, order, most);
  const conditions = [query.runId === undefined ? state : opaque(state), ...(named ? [] : within('i'))];
  // The places of keys are in the order of creation.
  const ofKeys = bySettlement ? undefined : within;
  if (asked && !named) conditions.push(dialect.hasKey(value(JSON.stringify(asked)), isSettled, ofKeys));
  for (const [column, wanted] of Object.entries({
    agent,
    tool,
    kind,
    risk,
    started_by: startedBy,
  })) {
    if (wanted !== undefined) conditions.push(opaque(`i.${column} = ${value(wanted)}`));
  }
  if (label !== undefined) conditions.push(opaque(dialect.hasLabel(value(label))));
  for (const word of searchWords(search)) conditions.push(opaque(dialect.contains('i.search_text', value(word))));
  // A pending request has no outcome.
  if (outcome !== undefined) conditions.push(isSettled ? outcomeSql(outcome) : 'FALSE');
  if (query.runId !== undefined) conditions.push(dialect.ofRun(value(query.runId)));
  if (among !== undefined && dialect.among) conditions.push(dialect.among(value(among)));

  const list = named ? 'd' : 'i';
  const table = `${dialect.requests} i${among === undefined ? '' : ' NOT INDEXED'}`;
  const text = `SELECT ${dialect.interruptColumns} FROM ${named || table} WHERE ${conditions.join(' AND ')}
    ORDER BY ${list}.${time} ${direction}, ${list}.seq ${direction} LIMIT ${value(limit + 1)}`;
  const size =
    'length(card) + coalesce(length(settlement), 0) + coalesce(length(progress), 0) + coalesce(length(ending), 0)';
  return { text: dialect.endAtSize?.(text, order, size) ?? text, values };
}

/** The column that the requests are ordered by. */
export const timeOf = (query: RequestQuery): 'created_at' | 'settled_at' =>
  isBySettlement(query) ? 'settled_at' : 'created_at';

/**
 * Hides a condition from the planner. A planner that expects few matches reads and sorts everything; one that cannot tell
 * walks along the list, which costs the same in the worst case and next to nothing in the usual one.
 */
function opaque(condition: string): string {
  return `coalesce(${condition}, FALSE)`;
}

/** `hasOutcome` on the columns of an request `i`. */
function outcomeSql(asked: RequestOutcome): string {
  // Few calls end badly: an index has them.
  if (asked === 'failed' || asked === 'unknown') return `i.ended = '${asked}' AND ${BAD}`;
  if (asked === 'done') return opaque(`i.ended = 'done'`);
  if (asked === 'not-run') return opaque(`(i.ended = 'not-run' OR ${NOTHING_RAN})`);
  if (asked === 'edited' || asked === 'expired') return opaque(`i.${asked} = 1`);
  const others = Object.entries(OTHER_NAMES).flatMap(([name, other]) => (other === asked ? `'${name}'` : []));
  return opaque(`i.outcome IN (${[`'${asked}'`, ...others].join(', ')})`);
}

/** What `hasOutcome` says of requests whose calls have recorded nothing. */
const NOTHING_RAN = `i.ended IS NULL AND i.kind <> 'doubt' AND i.outcome IN (${LETS_NOTHING_RUN.map((outcome) => `'${outcome}'`).join(', ')})`;

/** As the indexes of the stores have it. */
const BAD = `i.ended IN ('failed', 'unknown')`;
