// Searching on PostgreSQL, once the index of `postgres-search-schema.ts` is there. There are few hits or many, and they
// stand anywhere in the list: each way to find them is good at some of this, and none at all of it.
import { createHash } from 'node:crypto';
import type { InterruptQuery, InterruptRecord, Page } from '../runs/store.ts';
import { filtersOf, type Sql } from './list-query.ts';
import { makePage, readPageRequest } from './page.ts';
import type { Tables } from './postgres-schema.ts';
import { wordsOf } from './postgres-search-schema.ts';
import { type InterruptRow, interruptOf, placeOf } from './rows.ts';

/** Among more hits than that, the list is walked: soon there is a page of them. */
export const FEW_HITS = 1_000;
/** How far. If there is no page of hits by then, they stand together somewhere else, and all of them are sorted. */
export const WALKED = 500;

/** A row of a search; `hits` says how many were found, and does not go beyond the most that were looked for. */
export type SearchRow = InterruptRow & { readonly hits: number };

/** A page of what waits and has all words. */
export async function searchPostgres(
  query: InterruptQuery,
  words: readonly string[],
  tables: Tables,
  columns: string,
  rowsOf: (sql: Sql) => Promise<readonly SearchRow[]>,
): Promise<Page<InterruptRecord>> {
  const sql = (way: SearchWay): Sql => postgresSearchSql(query, words, way, tables, columns);
  const page = (rows: readonly InterruptRow[]) => makePage(rows, query.limit, interruptOf, placeOf);
  const few = await rowsOf(sql('few'));
  if ((few[0]?.hits ?? 0) <= FEW_HITS) return page(few);
  const near = await rowsOf(sql('near'));
  return page(near.length > query.limit ? near : await rowsOf(sql('all')));
}

/**
 * `few`: by the index, sorted; wrong if there are more than `FEW_HITS`. `near`: along the list; wrong if it finds less
 * than a page. `all`: by the index, all of them sorted.
 */
export type SearchWay = 'few' | 'near' | 'all';

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
  const direction = newest ? 'DESC' : 'ASC';

  function conditions(): string[] {
    const asked = ['i.settled_at IS NULL', ...filtersOf(query, value)];
    if (after !== undefined) {
      asked.push(`(i.created_at, i.seq) ${newest ? '<' : '>'} (${value(after.createdAt)}, ${value(after.seq)})`);
    }
    if (query.createdBefore !== undefined) asked.push(`i.created_at < ${value(query.createdBefore)}`);
    if (query.createdAfter !== undefined) asked.push(`i.created_at > ${value(query.createdAfter)}`);
    if (query.label !== undefined) asked.push(`coalesce(${value(query.label)} = ANY (i.labels), false)`);
    if (query.startedBy !== undefined) asked.push(`coalesce(i.started_by = ${value(query.startedBy)}, false)`);
    if (query.runId !== undefined) asked.push(`coalesce(i.run_id = ${value(query.runId)}, false)`);
    return asked;
  }

  const hasWords = `${wordsOf(tables, 'i.')} @@ ${value(queryOf(words, query.startedBy))}::tsquery`;
  if (way === 'near') {
    const text = `SELECT ${columns}, 0 AS hits FROM (
        SELECT * FROM ${tables.interrupt} i WHERE ${conditions().join(' AND ')}
        ORDER BY i.created_at ${direction}, i.seq ${direction} LIMIT ${value(WALKED)}
      ) i WHERE ${hasWords} ORDER BY i.created_at ${direction}, i.seq ${direction} LIMIT ${value(limit + 1)}`;
    return { text, values };
  }
  const most = way === 'few' ? `LIMIT ${value(FEW_HITS + 1)}` : '';
  const text = `WITH hits AS MATERIALIZED (
      SELECT i.id, i.created_at, i.seq FROM ${tables.interrupt} i
      WHERE ${[hasWords, ...conditions()].join(' AND ')} ${most}
    )
    SELECT ${columns}, (SELECT count(*)::int FROM hits) AS hits
    FROM (SELECT * FROM hits ORDER BY created_at ${direction}, seq ${direction} LIMIT ${value(limit + 1)}) h
    JOIN ${tables.interrupt} i ON i.id = h.id ORDER BY h.created_at ${direction}, h.seq ${direction}`;
  return { text, values };
}

/** Words are letters and digits only. */
function queryOf(words: readonly string[], startedBy: string | undefined): string {
  const asked = words.map((word) => `'${word}':*`);
  if (startedBy !== undefined) asked.push(`'=${createHash('md5').update(startedBy).digest('hex')}'`);
  return asked.join(' & ');
}
