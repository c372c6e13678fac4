// The entry point `countersign/sqlite`: runs in one file, by Node's own SQLite. Several processes may share the file.
import { resolve } from 'node:path';
import { aFunction, checkOptions, type OptionTable } from '../../core/options.ts';
import { FULL_PAGE_SIZE, MOST_PAGE_EVENTS } from '../../runs/port/page.ts';
import type { Store } from '../../runs/port/store.ts';
import { createNotes } from '../rules/notes.ts';
import { readEventLimit } from '../rules/page.ts';
import { checkAppend, isStorable } from '../rules/refusals.ts';
import { readStatsQuery, statsOf } from '../rules/stats.ts';
import { createWatchers, type StopListening, type Watchers } from '../rules/watchers.ts';
import {
  type LoadedRow,
  loadedOf,
  pageOfRequests,
  pageOfRuns,
  type QueueRow,
  queueOf,
  type RequestRow,
  type RunRow,
  requestOf,
  type UntoldRow,
  untoldOf,
} from '../sql/rows.ts';
import { sqliteAppend } from './append.ts';
import { type Job, type Prepare, SqliteConnection } from './connection.ts';
import { countedPending, countedRuns, settledParts } from './counts.ts';
import { interruptRows, runRows } from './list-rows.ts';
import { SqliteNotes } from './notes.ts';
import { SearchIndex } from './search-index.ts';
import { DELETIONS, EVENTS_AT_ONCE, SQL } from './statements.ts';

/** Options of `sqliteStore`. */
export type SqliteStoreOptions = {
  /** The file, created if it does not exist. Its folder must exist, on a local disk. */
  readonly path: string;
  /** How long a call waits while other processes write, in milliseconds. Default: 10,000. */
  readonly busyTimeoutMs?: number;
  /** The clock, in milliseconds. Default: `Date.now`. */
  readonly now?: () => number;
};

/**
 * Keeps runs in a SQLite file. Nothing to start or set up: the file and its tables are created when first needed. When a
 * call resolves, its writes are on disk.
 */
export function sqliteStore(options: string | SqliteStoreOptions): Store {
  const given = typeof options === 'string' ? { path: options } : options;
  checkOptions('`sqliteStore`', given, SQLITE_OPTIONS);
  const { path, busyTimeoutMs = 10_000, now = Date.now } = given;
  const clock = (): number => Math.floor(now());
  return storeOn(new SqliteConnection({ path: fullPath(path), now: clock, busyTimeoutMs }), clock);
}

const SQLITE_OPTIONS: OptionTable<SqliteStoreOptions> = {
  // SQLite takes an empty path for a temporary file.
  path: { is: 'the path of its file', fits: (value) => typeof value === 'string' && value !== '', required: true },
  // With NaN, it would wait forever.
  busyTimeoutMs: { is: 'a number of milliseconds', fits: (value) => Number.isFinite(value) && Number(value) >= 0 },
  now: aFunction,
};

/** The process may change its working directory before the file is opened again. */
function fullPath(path: string): string {
  return path === ':memory:' || path.startsWith('file:') ? path : resolve(path);
}

/** How often to check for writes of other processes, while someone watches. */
const POLL_MS = 200;

function storeOn(connection: SqliteConnection, clock: () => number): Store {
  const watchers: Watchers = createWatchers(() => listen(connection, watchers));
  const settled = settledParts(connection);
  const searches = new SearchIndex(connection);

  return {
    notes: createNotes(new SqliteNotes(connection, clock)),
    identity: () => connection.identity(),

    async append(append) {
      checkAppend(append);
      const appended = await connection.write(sqliteAppend(append, clock));
      if (append.at !== undefined && append.settled.length > 0) settled.forget();
      watchers.notify(append.runId);
      return appended;
    },

    async read(runId, { after = 0, limit } = {}) {
      if (!isStorable(runId)) return undefined;
      const most = readEventLimit(limit);
      const row = await connection.readAtOnce(readRun(runId, after, most));
      return row && loadedOf(row, after, most);
    },

    async delete(runId) {
      if (!isStorable(runId)) return false;
      const deleted = await connection.write((prepare) => {
        const run = prepare(SQL.deletable).get(runId, clock());
        if (run !== undefined) for (const text of DELETIONS) prepare(text).get(Number(run.seq));
        return run !== undefined;
      });
      if (deleted) {
        settled.forget();
        watchers.notify(runId);
      }
      return deleted;
    },

    async claim(runId, token, leaseMs) {
      if (!isStorable(runId)) return undefined;
      const row = await connection.write((prepare) => {
        const now = clock();
        const claimed = prepare(SQL.claim).get({ token, until: now + Math.ceil(leaseMs), runId, now });
        return claimed && readRun(runId, 0, MOST_PAGE_EVENTS)(prepare);
      });
      return row && loadedOf(row, 0, MOST_PAGE_EVENTS);
    },

    renew: (runId, token, leaseMs) =>
      connection.write((prepare) => prepare(SQL.renew).get(clock() + Math.ceil(leaseMs), runId, token) !== undefined),

    async release(runId, token) {
      await connection.write((prepare) => prepare(SQL.release).get(runId, token));
    },

    async due(limit, agents) {
      const names = agents === undefined ? null : JSON.stringify(agents);
      const rows = await connection.read((prepare) => prepare(SQL.due).all({ now: clock(), agents: names, limit }));
      return rows.map(({ id }) => String(id));
    },

    async queue() {
      const rows = await connection.read((prepare) => prepare(SQL.queue).all({ now: clock() }));
      return (rows as unknown as readonly QueueRow[]).map(queueOf);
    },

    async takeUntold(limit, leaseMs) {
      // Asked first, because a write locks the file for others.
      const untold = await connection.read((prepare) => prepare(SQL.untold).get(clock(), 1));
      if (untold === undefined) return [];
      const rows = await connection.write((prepare) => {
        const now = clock();
        const longest = prepare(SQL.untold).all(now, limit);
        return longest.map(({ seq }) => prepare(SQL.takeUntold).get(now, Math.ceil(leaseMs), Number(seq)));
      });
      return untoldOf(rows as unknown as readonly UntoldRow[]);
    },

    async told(requestId, news) {
      await connection.write((prepare) => prepare(SQL.told).get(requestId, news));
    },

    async listRuns(query) {
      return pageOfRuns(await runRows(connection, query), query);
    },

    async listRequests(query) {
      return pageOfRequests(await interruptRows(connection, searches, query), query);
    },

    async request(id) {
      if (!isStorable(id)) return undefined;
      const row = await connection.read((prepare) => prepare(SQL.request).get(id));
      return row && requestOf(row as unknown as RequestRow);
    },

    countRuns: () => countedRuns(connection),

    async stats(query) {
      const now = clock();
      const request = readStatsQuery(query, now);
      // The pending requests come first. One that is settled meanwhile is settled after the period.
      const pending = await countedPending(connection, request.startedBy);
      return statsOf([...pending, ...(await settled.rows(request, now))], request);
    },

    now: async () => clock(),
    watch: (changed) => watchers.add(changed),
    migrate: () => connection.migrate(),

    async close() {
      await watchers.clear();
      await connection.close();
    },
  };
}

/** Events are only ever added, so those after the last one seen are new. */
function listen(connection: SqliteConnection, watchers: Watchers): StopListening {
  let seen = connection.peek(lastEvent);
  let dataVersion = connection.peek(readDataVersion);
  const timer = setInterval(() => {
    const read = connection.peek(readDataVersion);
    if (read === undefined || read === dataVersion) return;
    if (seen === undefined) {
      seen = connection.peek(lastEvent);
      return;
    }
    const changes = connection.peek(changesAfter(seen));
    if (changes === undefined) return;
    dataVersion = read;
    seen = changes.at(-1)?.seq ?? seen;
    for (const runId of new Set(changes.map(({ id }) => id))) watchers.notify(runId);
  }, POLL_MS);
  timer.unref();
  return async () => clearInterval(timer);
}

/** The run with a page of at most `limit` batches of events after the first `after`; undefined if it does not exist. */
function readRun(runId: string, after: number, limit: number): Job<LoadedRow | undefined> {
  return (prepare) => {
    const run = prepare(SQL.run).get(runId) as RunRow | undefined;
    if (run === undefined) return undefined;
    return Object.assign(run, { batches: batchesOf(prepare, run.seq, after, limit) });
  };
}

function batchesOf(prepare: Prepare, runSeq: number, after: number, limit: number): string | null {
  const batches: string[] = [];
  let size = 0;
  for (let from = after; ; ) {
    const rows = prepare(SQL.events).all(runSeq, from) as unknown as readonly EventRow[];
    for (const { version, events } of rows) {
      batches.push(`${version},${events}`);
      size += events.length;
      from = version;
      if (size >= FULL_PAGE_SIZE || batches.length === limit) return batches.join('\n');
    }
    if (rows.length < EVENTS_AT_ONCE) return batches.length === 0 ? null : batches.join('\n');
  }
}

type EventRow = { readonly version: number; readonly events: string };

/** 0 before the tables exist. */
const lastEvent: Job<number> = (prepare) => {
  const table = prepare("SELECT 1 FROM sqlite_schema WHERE name = 'countersign_event'").get();
  return table === undefined ? 0 : Number(prepare('SELECT max(seq) AS seq FROM countersign_event').get()?.seq ?? 0);
};

/** Changes when another connection has written. */
const readDataVersion: Job<number> = (prepare) => Number(prepare('PRAGMA data_version').get()?.data_version);

function changesAfter(seen: number): Job<readonly { readonly seq: number; readonly id: string }[]> {
  return (prepare) =>
    prepare(SQL.changes).all(seen) as unknown as readonly { readonly seq: number; readonly id: string }[];
}
