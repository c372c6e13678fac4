// Reads the rows of a page in stretches: SQLite answers synchronously, and a filter may pass few rows of a long history.
import { setImmediate } from 'node:timers/promises';
import type { RequestQuery, RunQuery } from '../../runs/port/store.ts';
import { askedKeys } from '../rules/deciders.ts';
import { isBySettlement, PageRoom, type Place, readPageRequest } from '../rules/page.ts';
import { searchWords } from '../rules/search-text.ts';
import { MOST_MERGED, requestsSql, rowsAtOnce, runsSql, type Sql, type Stretch, timeOf } from '../sql/list-query.ts';
import { EXISTS, interruptSize, type RequestRow, type RunRow, requestPlace, runPlace, runSize } from '../sql/rows.ts';
import type { Job, SqliteConnection } from './connection.ts';
import type { SearchIndex } from './search-index.ts';
import { keyIn, SQLITE_DIALECT } from './statements.ts';

/** One row more than the page holds, if another page follows. */
export function runRows(connection: SqliteConnection, query: RunQuery): Promise<readonly RunRow[]> {
  const isOldest = query.order === 'oldest';
  const filtered = (stretch: Stretch) => runsSql(query, SQLITE_DIALECT, stretch);
  const end = (after: Place | undefined): Sql => ({
    text: `SELECT r.seq FROM countersign_run r WHERE r.${EXISTS}${after ? ` AND r.seq ${isOldest ? '>' : '<'} ?` : ''}
      ORDER BY r.seq ${isOldest ? 'ASC' : 'DESC'} LIMIT 1 OFFSET ${rowsAtOnce(0) - 1}`,
    values: after ? [after.seq] : [],
  });
  return rowsOf<RunRow>(connection, query, { filtered, end, placeOf: runPlace, sizeOf: runSize });
}

/** One row more than the page holds, if another page follows. */
export async function interruptRows(
  connection: SqliteConnection,
  index: SearchIndex,
  query: RequestQuery,
): Promise<readonly RequestRow[]> {
  const direction = query.order === 'newest' ? 'DESC' : 'ASC';
  const words = searchWords(query.search);
  const among = words.length === 0 || query.runId !== undefined ? undefined : await index.find(words);
  const filtered = (stretch: Stretch) => requestsSql(query, SQLITE_DIALECT, { ...stretch, among });
  const state = query.settled === true ? 'i.settled_at IS NOT NULL' : 'i.settled_at IS NULL';
  const atOnce = rowsAtOnce(words.length);
  const { createdBefore, createdAfter, settledSince, settledBefore, deciders } = query;
  const time = timeOf(query);
  const end = (after: Place | undefined, stretches: number): Sql => {
    const place = after && [after.createdAt, after.seq];
    const conditions = [
      ...(createdBefore === undefined ? [] : ['i.created_at < ?']),
      ...(createdAfter === undefined ? [] : ['i.created_at > ?']),
      ...(settledSince === undefined ? [] : ['i.settled_at >= ?']),
      ...(settledBefore === undefined ? [] : ['i.settled_at < ?']),
      ...(place ? [`(i.${time}, i.seq) ${direction === 'DESC' ? '<' : '>'} (?, ?)`] : []),
    ];
    const limits = [createdBefore, createdAfter, settledSince, settledBefore, ...(place ?? [])];
    const bounds = limits.filter((bound) => bound !== undefined);
    const order = `ORDER BY 1 ${direction}, 2 ${direction} LIMIT 1`;
    const select = (table: string, ...more: readonly string[]) =>
      `SELECT i.${time}, i.seq FROM ${table} i WHERE ${[...more, ...conditions].join(' AND ')}`;
    if (deciders === undefined || isBySettlement(query))
      return { text: `${select('countersign_request', state)} ${order} OFFSET ${atOnce - 1}`, values: bounds };
    // The keys of the deciders say which rows are looked at. Few at first: without another filter all of them pass.
    const keys = askedKeys(deciders);
    const settled = `i.settled = ${Number(query.settled === true)}`;
    const ofKeys = (key: string) => select('countersign_decider', key, settled);
    const offset = `OFFSET ${Math.min(atOnce, (query.limit + 1) * 4 ** stretches) - 1}`;
    if (keys.length > MOST_MERGED)
      return { text: `${ofKeys(keyIn('?', 'i'))} ${order} ${offset}`, values: [JSON.stringify(keys), ...bounds] };
    const lists = keys.map(() => ofKeys('i.key = ?'));
    return { text: `${lists.join(' UNION ')} ${order} ${offset}`, values: keys.flatMap((key) => [key, ...bounds]) };
  };
  // The requests of one run are found by an index of their own, and so are few matches of a search.
  const list = { filtered, placeOf: requestPlace(query), sizeOf: interruptSize };
  return rowsOf<RequestRow>(
    connection,
    query,
    query.runId === undefined && among === undefined ? { ...list, end } : list,
  );
}

type List<Row> = {
  /** Selects the rows of a stretch that pass the filters. */
  readonly filtered: (stretch: Stretch) => Sql;
  /** Selects the last place of the stretch that begins after this place; nothing if the list ends before. Absent: one stretch. */
  readonly end?: (after: Place | undefined, stretches: number) => Sql;
  readonly placeOf: (row: Row) => Place;
  readonly sizeOf: (row: Row) => number;
};

async function rowsOf<Row>(
  connection: SqliteConnection,
  query: { readonly after?: string; readonly limit: number },
  { filtered, end, placeOf, sizeOf }: List<Row>,
): Promise<readonly Row[]> {
  let { after } = readPageRequest(query);
  let stretches = 0;
  const rows: Row[] = [];
  // It runs again if the file is busy, so it changes nothing.
  const stretch: Job<{ readonly found: readonly Row[]; readonly until?: Place | undefined }> = (prepare) => {
    const room = new PageRoom(query.limit);
    for (const row of rows) room.takes(sizeOf(row));
    const { text = '', values = [] } = end?.(after, stretches) ?? {};
    const last = end && (prepare(text).get(...values) as Row | undefined);
    const until = last && placeOf(last);
    const { text: select, values: given } = filtered({ after, until });
    const found: Row[] = [];
    for (const row of prepare(select).iterate(...given) as IterableIterator<Row>) {
      found.push(row);
      if (!room.takes(sizeOf(row))) return { found };
    }
    return { found, until };
  };
  for (;;) {
    const { found, until } = await connection.read(stretch);
    for (const row of found) rows.push(row);
    if (until === undefined) return rows;
    after = until;
    stretches += 1;
    await setImmediate();
  }
}
