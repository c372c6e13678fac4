// A search along the first part of the list, as SQL that both SQL stores understand: it soon has a page of words that
// many questions have. An index of words, which finds few soon, would have to go through all of them.
import type { InterruptQuery } from '../../runs/port/store.ts';
import { readPageRequest } from '../rules/page.ts';
import { type Dialect, filtersOf, outcomesOf, placesOf, type Sql } from './list-query.ts';
import type { InterruptRow } from './rows.ts';
import { rowsWith } from './search-walk.ts';

/** How far the list is walked. If it has no page by then, the hits are few, or stand together somewhere else. */
const WALKED = 1_000;

/** One more than the page holds, in the order of the list. Undefined if it has to be found in another way. */
export async function searchList(
  query: InterruptQuery,
  words: readonly string[],
  dialect: Dialect,
  list: (sql: Sql) => Promise<readonly InterruptRow[]>,
): Promise<readonly InterruptRow[] | undefined> {
  const maybe = await list(searchListSql(query, words, dialect));
  const found = rowsWith(words, maybe);
  return found.length > query.limit ? found : undefined;
}

/** Some of the first questions that may have the words. */
function searchListSql(query: InterruptQuery, words: readonly string[], dialect: Dialect): Sql {
  const { limit } = readPageRequest(query);
  const direction = query.order === 'newest' ? 'DESC' : 'ASC';
  const values: (string | number)[] = [];
  const value = (given: string | number): string => dialect.value(values.push(given));
  const walked = `SELECT * FROM ${dialect.interrupts} i
    WHERE ${['i.settled_at IS NULL', ...placesOf(query, 'i.created_at', 'i.seq', value)].join(' AND ')}
    ORDER BY i.created_at ${direction}, i.seq ${direction} LIMIT ${WALKED}`;
  const conditions = ['TRUE', ...filtersOf(query, value), ...outcomesOf(query, dialect)];
  if (query.startedBy !== undefined) conditions.push(`coalesce(i.started_by = ${value(query.startedBy)}, false)`);
  if (query.label !== undefined) conditions.push(dialect.hasLabel(value(query.label)));
  // Only small letters of ASCII are surely the same, however the card is written.
  for (const word of words) if (/^[a-z0-9]+$/.test(word)) conditions.push(dialect.mayHave(value(word)));
  // Some words are in every card, as names of its fields, and in few of the texts: so more than a page is looked at.
  const text = `SELECT ${dialect.columns} FROM (${walked}) i WHERE ${conditions.join(' AND ')}
    ORDER BY i.created_at ${direction}, i.seq ${direction} LIMIT ${value(4 * (limit + 1))}`;
  return { text, values };
}
