// The list of interrupts as SQL that both SQL stores understand: keyset pages, walked along one index.
import type { InterruptQuery } from '../../runs/port/store.ts';
import { outcomeSql, type SettlementSql } from '../rules/outcomes.ts';
import { readPageRequest } from '../rules/page.ts';

export type Sql = { readonly text: string; readonly values: readonly (string | number)[] };

export type Dialect = SettlementSql & {
  /** The columns of an interrupt `i`, as `InterruptRow` names them. */
  readonly columns: string;
  readonly interrupts: string;
  readonly labels: string;
  /** How the value number `index`, from 1 on, is written. */
  readonly value: (index: number) => string;
  readonly waiting: (isWaiting: boolean) => string;
  /** That the interrupt `i` has the label. */
  readonly hasLabel: (label: string) => string;
  /** False only if the word, in small letters of ASCII, is nowhere in the interrupt `i`. */
  readonly mayHave: (word: string) => string;
  /** That the interrupt `i` is one of the run, said so that the few of a run are found without a look at others. */
  readonly ofRun: (runId: string) => string;
};

/**
 * What is asked for of the interrupt `i` itself. A planner that believes a filter to leave little reads everything and
 * sorts it. It is not to know what is compared, and walks along the list: as costly in the worst case, next to nothing
 * in the usual one.
 */
export function filtersOf(query: InterruptQuery, value: (given: string) => string): string[] {
  const columns = ['agent', 'tool', 'kind', 'risk'] as const;
  return columns.flatMap((column) => {
    const wanted = query[column];
    return wanted === undefined ? [] : [`coalesce(i.${column} = ${value(wanted)}, false)`];
  });
}

/** What became of the interrupt `i`. What waits has not become anything, and need not be looked at. */
export function outcomesOf({ outcome, settled }: InterruptQuery, dialect: Dialect): string[] {
  if (outcome === undefined) return [];
  return [settled === true ? outcomeSql(outcome, dialect) : 'FALSE'];
}

/** Where in the list, whose order is in an index of the table. */
export function placesOf(
  query: InterruptQuery,
  createdAt: string,
  seq: string,
  value: (given: number) => string,
): string[] {
  const { after } = readPageRequest(query);
  const conditions: string[] = [];
  if (query.createdBefore !== undefined) conditions.push(`${createdAt} < ${value(query.createdBefore)}`);
  if (query.createdAfter !== undefined) conditions.push(`${createdAt} > ${value(query.createdAfter)}`);
  if (after !== undefined) {
    const place = `(${value(after.createdAt)}, ${value(after.seq)})`;
    conditions.push(`(${createdAt}, ${seq}) ${query.order === 'newest' ? '<' : '>'} ${place}`);
  }
  return conditions;
}

/** Finds one more than the page holds. */
export function interruptsSql(query: InterruptQuery, dialect: Dialect): Sql {
  const { limit } = readPageRequest(query);
  const newest = query.order === 'newest';
  const values: (string | number)[] = [];
  const value = (given: string | number): string => dialect.value(values.push(given));
  const places = (createdAt: string, seq: string): string[] => placesOf(query, createdAt, seq, value);

  function filters(): string[] {
    const asked = [...filtersOf(query, value), ...outcomesOf(query, dialect)];
    // Those of one person have an index of their own once it is prepared: `Store.prepareSearch`.
    if (query.startedBy !== undefined) asked.push(hidden(`i.started_by = ${value(query.startedBy)}`));
    if (query.runId === undefined) return asked;
    if (query.label !== undefined) asked.push(dialect.hasLabel(value(query.label)));
    return [...asked, dialect.ofRun(value(query.runId))];
  }

  /** Those of one run are few. Nothing else may look like a way to them, however few a planner believes to be there. */
  function hidden(condition: string): string {
    return query.runId === undefined ? condition : `coalesce(${condition}, false)`;
  }

  function ordered(createdAt: string, seq: string, limited: boolean): string {
    const direction = newest ? 'DESC' : 'ASC';
    const order = `ORDER BY ${createdAt} ${direction}, ${seq} ${direction}`;
    return limited ? `${order} LIMIT ${value(limit + 1)}` : order;
  }

  const { columns, interrupts, labels } = dialect;
  const settled = query.settled === true;
  if (query.label === undefined || query.runId !== undefined) {
    const state = hidden(settled ? 'i.settled_at IS NOT NULL' : 'i.settled_at IS NULL');
    const conditions = [state, ...places('i.created_at', 'i.seq'), ...filters()];
    const text = `SELECT ${columns} FROM ${interrupts} i WHERE ${conditions.join(' AND ')}
      ${ordered('i.created_at', 'i.seq', true)}`;
    return { text, values };
  }

  // The labels have the order of the list in their own index. Unless more is asked for, a page of them is the page.
  const state = [`label = ${value(query.label)}`, `waiting = ${dialect.waiting(!settled)}`];
  const conditions = [...state, ...places('created_at', 'seq')];
  const others = filters();
  const page = `SELECT created_at, seq, interrupt_id FROM ${labels} WHERE ${conditions.join(' AND ')}
    ${ordered('created_at', 'seq', others.length === 0)}`;
  const text = `SELECT ${columns}, CAST(l.created_at AS double precision) AS listed_at FROM (${page}) l JOIN ${interrupts} i ON i.id = l.interrupt_id
    ${others.length === 0 ? '' : `WHERE ${others.join(' AND ')}`} ${ordered('l.created_at', 'l.seq', true)}`;
  return { text, values };
}
