// Searching on PostgreSQL, once the index of `postgres-search-schema.ts` is there. Few may have the words or many, and
// they may stand anywhere in the list: the list finds a page of many soon, the index finds few soon.
import { createHash } from 'node:crypto';
import type { InterruptQuery, InterruptRecord, Page } from '../runs/store.ts';
import { filtersOf, type Sql } from './list-query.ts';
import { makePage, readPageRequest } from './page.ts';
import type { Tables } from './postgres-schema.ts';
import { wordsOf as indexedWords } from './postgres-search-schema.ts';
import { type InterruptRow, interruptOf, placeOf } from './rows.ts';
import { hasAll, namedWords, wordsOf } from './words.ts';

/** How far the list is walked. If it has no page by then, the hits are few, or stand together somewhere else. */
const WALKED = 1_000;

/** A page of what waits and has all words. */
export async function searchPostgres(
  query: InterruptQuery,
  words: readonly string[],
  tables: Tables,
  columns: string,
  rowsOf: (sql: Sql) => Promise<readonly InterruptRow[]>,
): Promise<Page<InterruptRecord>> {
  const sql = (way: SearchWay): Sql => postgresSearchSql(query, words, way, tables, columns);
  const near = (await rowsOf(sql('list'))).filter((row) => hasAll(wordsOf(interruptOf(row)), words));
  const found = near.length > query.limit ? near : await rowsOf(sql('index'));
  return makePage(found, query.limit, interruptOf, placeOf);
}

/** `list`: some of the first that may have the words, to be looked at. `index`: exactly those of the page. */
export type SearchWay = 'list' | 'index';

export function postgresSearchSql(
  query: InterruptQuery,
  words: readonly string[],
  way: SearchWay,
  tables: Tables,
  columns: string,
): Sql {
  const { after, limit } = readPageRequest(query);
  const newest = query.order === 'newest';
  const values: (string | number)[] = [];
  const value = (given: string | number): string => `$${values.push(given)}`;
  const ordered = (table: string): string => {
    const direction = newest ? 'DESC' : 'ASC';
    return `ORDER BY ${table}.created_at ${direction}, ${table}.seq ${direction}`;
  };

  function places(): string[] {
    const asked = ['i.settled_at IS NULL'];
    if (after !== undefined) {
      asked.push(`(i.created_at, i.seq) ${newest ? '<' : '>'} (${value(after.createdAt)}, ${value(after.seq)})`);
    }
    if (query.createdBefore !== undefined) asked.push(`i.created_at < ${value(query.createdBefore)}`);
    if (query.createdAfter !== undefined) asked.push(`i.created_at > ${value(query.createdAfter)}`);
    return asked;
  }

  function filters(): string[] {
    const asked = filtersOf(query, value);
    if (query.label !== undefined) asked.push(`coalesce(${value(query.label)} = ANY (i.labels), false)`);
    if (query.startedBy !== undefined) asked.push(`coalesce(i.started_by = ${value(query.startedBy)}, false)`);
    if (query.runId !== undefined) asked.push(`coalesce(i.run_id = ${value(query.runId)}, false)`);
    return asked;
  }

  if (way === 'list') {
    // Only letters of ASCII are surely the same, however the card is written.
    const contained = words.filter((word) => /^[a-z0-9]+$/.test(word));
    const texts = `lower(concat_ws(' ', i.agent, i.tool, i.labels::text, i.card) COLLATE "C")`;
    const walked = `SELECT * FROM ${tables.interrupt} i WHERE ${places().join(' AND ')} ${ordered('i')} LIMIT ${WALKED}`;
    const maybe = ['TRUE', ...filters(), ...contained.map((word) => `strpos(${texts}, ${value(word)}) > 0`)];
    // Words that are in every card as names of its fields are in none of the texts: so a few pages are looked at.
    const text = `SELECT ${columns} FROM (${walked}) i WHERE ${maybe.join(' AND ')}
      ${ordered('i')} LIMIT ${value(4 * (limit + 1))}`;
    return { text, values };
  }
  const hasWords = `${indexedWords(tables, 'i.')} @@ ${value(queryOf(query, words))}::tsquery`;
  const text = `WITH hits AS MATERIALIZED (
      SELECT i.id, i.created_at, i.seq FROM ${tables.interrupt} i
      WHERE ${[hasWords, ...places(), ...filters()].join(' AND ')}
    )
    SELECT ${columns} FROM (SELECT * FROM hits h ${ordered('h')} LIMIT ${value(limit + 1)}) h
    JOIN ${tables.interrupt} i ON i.id = h.id ${ordered('h')}`;
  return { text, values };
}

/** Words are letters and digits only. Who started the run is one word, whatever the name is made of. */
function queryOf(query: InterruptQuery, words: readonly string[]): string {
  const asked = [...words, ...namedWords(query)].map((word) => `'${word}':*`);
  const { startedBy } = query;
  if (startedBy !== undefined) asked.push(`'=${createHash('md5').update(startedBy).digest('hex')}'`);
  return asked.join(' & ');
}
