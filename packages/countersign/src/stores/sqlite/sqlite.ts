// The entry point `countersign/sqlite`: runs in one file, by Node's own SQLite. Several processes may share the file.
import { resolve } from 'node:path';
import { aFunction, checkOptions, type OptionTable } from '../../core/options.ts';
import type { Notes } from '../../runs/port/notes.ts';
import { FULL_PAGE_SIZE, MOST_PAGE_EVENTS } from '../../runs/port/page.ts';
import type { Stats, StatsQuery } from '../../runs/port/stats.ts';
import type {
  Append,
  Appended,
  InterruptQuery,
  InterruptRecord,
  LoadedRun,
  Page,
  ReadOptions,
  RunCounts,
  RunQuery,
  RunRecord,
  Store,
  TakenReminder,
} from '../../runs/port/store.ts';
import { createNotes } from '../rules/notes.ts';
import { readEventLimit } from '../rules/page.ts';
import { checkAppend, isStorable } from '../rules/refusals.ts';
import { readStatsQuery, type StatsRow, statsOf } from '../rules/stats.ts';
import { createWatchers, type StopListening, type Watchers } from '../rules/watchers.ts';
import { interruptsSql, runsSql, type Sql } from '../sql/list-query.ts';
import {
  type CountRow,
  countsOf,
  type InterruptRow,
  interruptOf,
  type LoadedRow,
  loadedOf,
  pageOfInterrupts,
  pageOfRuns,
  type ReminderRow,
  type RunRow,
  remindersOf,
} from '../sql/rows.ts';
import { statsSql } from '../sql/stats-query.ts';
import { sqliteAppend } from './append.ts';
import { type Job, SqliteConnection } from './connection.ts';
import { SqliteNotes } from './notes.ts';
import {
  CHANGES,
  CLAIM,
  COUNT_RUNS,
  DELETABLE,
  DELETIONS,
  DUE,
  DUE_REMINDERS,
  EVENTS,
  INTERRUPT,
  RELEASE,
  REMINDED,
  RENEW,
  RUN,
  SQLITE_DIALECT,
  TAKE_REMINDERS,
} from './statements.ts';

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
  return new SqliteStore(fullPath(path), () => Math.floor(now()), busyTimeoutMs);
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

class SqliteStore implements Store {
  readonly #now: () => number;
  readonly #connection: SqliteConnection;
  readonly notes: Notes;
  readonly #watchers: Watchers = createWatchers(() => this.#listen());

  constructor(path: string, now: () => number, busyTimeoutMs: number) {
    this.#now = now;
    this.#connection = new SqliteConnection({ path, now, busyTimeoutMs });
    this.notes = createNotes(new SqliteNotes(this.#connection, now));
  }

  async append(append: Append): Promise<Appended> {
    checkAppend(append);
    const appended = await this.#connection.write(sqliteAppend(append, this.#now));
    this.#watchers.notify(append.runId);
    return appended;
  }

  async read(runId: string, { after = 0, limit }: ReadOptions = {}): Promise<LoadedRun | undefined> {
    if (!isStorable(runId)) return undefined;
    const most = readEventLimit(limit);
    const row = await this.#connection.readAtOnce(readRun(runId, after, most));
    return row && loadedOf(row, after, most);
  }

  async delete(runId: string): Promise<boolean> {
    if (!isStorable(runId)) return false;
    const deleted = await this.#connection.write((prepare) => {
      const run = prepare(DELETABLE).get(runId, this.#now());
      if (run !== undefined) for (const text of DELETIONS) prepare(text).get(Number(run.seq));
      return run !== undefined;
    });
    if (deleted) this.#watchers.notify(runId);
    return deleted;
  }

  async claim(runId: string, token: string, leaseMs: number): Promise<LoadedRun | undefined> {
    if (!isStorable(runId)) return undefined;
    const row = await this.#connection.write((prepare) => {
      const now = this.#now();
      const claimed = prepare(CLAIM).get(token, now + Math.ceil(leaseMs), runId, now);
      return claimed && readRun(runId, 0, MOST_PAGE_EVENTS)(prepare);
    });
    return row && loadedOf(row, 0, MOST_PAGE_EVENTS);
  }

  async renew(runId: string, token: string, leaseMs: number): Promise<boolean> {
    return this.#connection.write(
      (prepare) => prepare(RENEW).get(this.#now() + Math.ceil(leaseMs), runId, token) !== undefined,
    );
  }

  async release(runId: string, token: string): Promise<void> {
    await this.#connection.write((prepare) => prepare(RELEASE).get(runId, token));
  }

  async due(limit: number, agents?: readonly string[]): Promise<readonly string[]> {
    const names = agents === undefined ? null : JSON.stringify(agents);
    const rows = await this.#connection.read((prepare) => prepare(DUE).all(this.#now(), names, limit));
    return rows.map(({ id }) => String(id));
  }

  /** Asks first whether any reminder is due, because a write locks the file for others. */
  async takeReminders(limit: number, leaseMs: number): Promise<readonly TakenReminder[]> {
    const due = await this.#connection.read((prepare) => prepare(DUE_REMINDERS).get(this.#now(), 1));
    if (due === undefined) return [];
    const rows = await this.#connection.write((prepare) =>
      prepare(TAKE_REMINDERS).all(this.#now(), limit, Math.ceil(leaseMs)),
    );
    return remindersOf(rows as unknown as readonly ReminderRow[]);
  }

  async reminded(interruptId: string): Promise<void> {
    await this.#connection.write((prepare) => prepare(REMINDED).get(this.#now(), interruptId));
  }

  async listRuns(query: RunQuery): Promise<Page<RunRecord>> {
    return pageOfRuns(await this.#rows<RunRow>(runsSql(query, SQLITE_DIALECT)), query);
  }

  async listInterrupts(query: InterruptQuery): Promise<Page<InterruptRecord>> {
    return pageOfInterrupts(await this.#rows<InterruptRow>(interruptsSql(query, SQLITE_DIALECT)), query);
  }

  async interrupt(id: string): Promise<InterruptRecord | undefined> {
    if (!isStorable(id)) return undefined;
    const row = await this.#connection.read((prepare) => prepare(INTERRUPT).get(id) as InterruptRow | undefined);
    return row && interruptOf(row);
  }

  async countRuns(): Promise<RunCounts> {
    return countsOf(await this.#rows<CountRow>({ text: COUNT_RUNS, values: [] }));
  }

  async stats(query: StatsQuery): Promise<Stats> {
    const request = readStatsQuery(query, this.#now());
    return statsOf(await this.#rows<StatsRow>(statsSql(request, SQLITE_DIALECT)), request);
  }

  async now(): Promise<number> {
    return this.#now();
  }

  watch(changed: (runId: string) => void): () => void {
    return this.#watchers.add(changed);
  }

  async migrate(): Promise<void> {
    await this.#connection.migrate();
  }

  async close(): Promise<void> {
    await this.#watchers.clear();
    await this.#connection.close();
  }

  async #rows<Row>({ text, values }: Sql): Promise<readonly Row[]> {
    return this.#connection.read((prepare) => prepare(text).all(...values) as unknown as readonly Row[]);
  }

  /** Events are only ever added, so those after the last one seen are new. */
  #listen(): StopListening {
    let seen = this.#connection.peek(lastEvent);
    let dataVersion = this.#connection.peek(readDataVersion);
    const timer = setInterval(() => {
      const read = this.#connection.peek(readDataVersion);
      if (read === undefined || read === dataVersion) return;
      if (seen === undefined) {
        seen = this.#connection.peek(lastEvent);
        return;
      }
      const changes = this.#connection.peek(changesAfter(seen));
      if (changes === undefined) return;
      dataVersion = read;
      seen = changes.at(-1)?.seq ?? seen;
      for (const runId of new Set(changes.map(({ id }) => id))) this.#watchers.notify(runId);
    }, POLL_MS);
    timer.unref();
    return async () => clearInterval(timer);
  }
}

/** The run with a page of at most `limit` batches of events after the first `after`; undefined if it does not exist. */
function readRun(runId: string, after: number, limit: number): Job<LoadedRow | undefined> {
  return (prepare) => {
    const run = prepare(RUN).get(runId) as RunRow | undefined;
    if (run === undefined) return undefined;
    const batches: string[] = [];
    let size = 0;
    for (const { version, events } of prepare(EVENTS).iterate(run.seq, after, limit)) {
      batches.push(`${version},${events}`);
      size += String(events).length;
      if (size >= FULL_PAGE_SIZE) break;
    }
    return { ...run, batches: batches.length === 0 ? null : batches.join('\n') };
  };
}

/** 0 before the tables exist. */
const lastEvent: Job<number> = (prepare) => {
  const table = prepare("SELECT 1 FROM sqlite_schema WHERE name = 'countersign_event'").get();
  return table === undefined ? 0 : Number(prepare('SELECT max(seq) AS seq FROM countersign_event').get()?.seq ?? 0);
};

/** Changes when another connection has written. */
const readDataVersion: Job<number> = (prepare) => Number(prepare('PRAGMA data_version').get()?.data_version);

function changesAfter(seen: number): Job<readonly { readonly seq: number; readonly id: string }[]> {
  return (prepare) => prepare(CHANGES).all(seen) as unknown as readonly { readonly seq: number; readonly id: string }[];
}
