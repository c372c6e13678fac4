// Searching on PostgreSQL by the index of `postgres-search-schema.ts`, once it is there.
import { createHash } from 'node:crypto';
import type { InterruptQuery } from '../../runs/port/store.ts';
import { readPageRequest } from '../rules/page.ts';
import { namedWords, tagsOf } from '../rules/search-text.ts';
import { type Dialect, filtersOf, outcomesOf, placesOf, type Sql } from '../sql/list-query.ts';
import type { Tables } from './schema.ts';
import { wordsOf } from './search-schema.ts';

/** A page of what waits and has all words, and one more. Everything that the index finds is sorted. */
export function postgresSearchSql(
  query: InterruptQuery,
  words: readonly string[],
  tables: Tables,
  dialect: Dialect,
): Sql {
  const { limit } = readPageRequest(query);
  const values: (string | number)[] = [];
  const value = (given: string | number): string => dialect.value(values.push(given));
  const direction = query.order === 'newest' ? 'DESC' : 'ASC';
  const order = `ORDER BY h.created_at ${direction}, h.seq ${direction}`;
  const conditions = [
    `${wordsOf(tables, 'i.')} @@ ${value(queryOf(query, words))}::tsquery`,
    'i.settled_at IS NULL',
    ...placesOf(query, 'i.created_at', 'i.seq', value),
    ...filtersOf(query, value),
    ...outcomesOf(query, dialect),
  ];
  if (query.label !== undefined) conditions.push(dialect.hasLabel(value(query.label)));
  if (query.startedBy !== undefined) conditions.push(`coalesce(i.started_by = ${value(query.startedBy)}, false)`);
  const text = `WITH hits AS MATERIALIZED (
      SELECT i.id, i.created_at, i.seq FROM ${tables.interrupt} i WHERE ${conditions.join(' AND ')}
    )
    SELECT ${dialect.columns} FROM (SELECT * FROM hits h ${order} LIMIT ${value(limit + 1)}) h
    JOIN ${tables.interrupt} i ON i.id = h.id ${order}`;
  return { text, values };
}

/** Words are letters and digits only. */
function queryOf(query: InterruptQuery, words: readonly string[]): string {
  const asked = [...words, ...namedWords(query)].map((word) => `'${word}':*`);
  return [...asked, ...tagsOf(query, md5).map((tag) => `'=${tag}'`)].join(' & ');
}

function md5(text: string): string {
  return createHash('md5').update(text).digest('hex');
}
