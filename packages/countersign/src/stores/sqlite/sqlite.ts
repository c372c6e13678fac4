// The entry point `countersign/sqlite`: runs in one file, by Node's own SQLite. Several processes may share the file.
import { resolve } from 'node:path';
import { UsageError } from '../../core/errors.ts';
import { anything, checkOptions, type OptionTable } from '../../core/options.ts';
import type { Notes } from '../../runs/port/notes.ts';
import { MOST_PAGE_EVENTS } from '../../runs/port/page.ts';
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
import { monotoneClock } from '../rules/clock.ts';
import { createNotes } from '../rules/notes.ts';
import { readEventLimit } from '../rules/page.ts';
import { checkAppend, isStorable } from '../rules/refusals.ts';
import { readStatsQuery, type StatsRow, statsOf } from '../rules/stats.ts';
import { createWatchers, type StopListening, type Watchers } from '../rules/watchers.ts';
import { interruptsSql, type Sql } from '../sql/list-query.ts';
import { remindersOf } from '../sql/reminders.ts';
import {
  type CountRow,
  countsOf,
  EXISTS,
  type InterruptRow,
  interruptOf,
  isFree,
  loadedOf,
  pageOfInterrupts,
  pageOfRuns,
  type RunRow,
} from '../sql/rows.ts';
import { runsSql } from '../sql/runs-query.ts';
import { statsSql } from '../sql/stats-query.ts';
import { sqliteAppend } from './append.ts';
import { type Job, SqliteConnection } from './connection.ts';
import { sqliteDelete } from './delete.ts';
import { interruptFields, RUNS_DIALECT, SQLITE_DIALECT } from './dialect.ts';
import { SqliteNotes } from './notes.ts';
import { readRun } from './read.ts';
import { confirmReminder, isReminderDue, takeReminders } from './reminders.ts';

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
  const given = (typeof options === 'string' ? { path: options } : options) ?? {};
  const { path, busyTimeoutMs = 10_000, now } = given;
  // SQLite takes an empty path for a temporary file.
  if (typeof path !== 'string' || path === '')
    throw new UsageError('invalid-options', { field: 'path' }, 'sqliteStore needs the path of its file.');
  checkOptions('`sqliteStore`', given, SQLITE_OPTIONS);
  // With NaN, it would wait forever.
  if (!Number.isFinite(busyTimeoutMs) || busyTimeoutMs < 0) {
    const message = `\`busyTimeoutMs\` of sqliteStore must be a number of milliseconds, not ${String(busyTimeoutMs)}.`;
    throw new UsageError('invalid-options', { field: 'busyTimeoutMs' }, message);
  }
  return new SqliteStore(fullPath(path), monotoneClock(now), busyTimeoutMs);
}

const SQLITE_OPTIONS: OptionTable<SqliteStoreOptions> = { path: anything, busyTimeoutMs: anything, now: anything };

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
    const row = await this.#connection.read(readRun(runId, after, most));
    return row && loadedOf(row, after, most);
  }

  async delete(runId: string): Promise<boolean> {
    if (!isStorable(runId)) return false;
    const deleted = await this.#connection.write(sqliteDelete(runId, this.#now));
    if (deleted) this.#watchers.notify(runId);
    return deleted;
  }

  async claim(runId: string, token: string, leaseMs: number): Promise<LoadedRun | undefined> {
    if (!isStorable(runId)) return undefined;
    const row = await this.#connection.write((prepare) => {
      const now = this.#now();
      const claimed = prepare(CLAIM).get(token, now + Math.ceil(leaseMs), runId, token, now);
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
    return this.#connection.read((prepare) => {
      const now = this.#now();
      return prepare(DUE)
        .all(now, now, names, names, limit)
        .map(({ id }) => String(id));
    });
  }

  async takeReminders(limit: number, leaseMs: number): Promise<readonly TakenReminder[]> {
    const isDue = await this.#connection.read(isReminderDue(this.#now));
    return isDue ? remindersOf(await this.#connection.write(takeReminders(limit, leaseMs, this.#now))) : [];
  }

  async reminded(interruptId: string): Promise<void> {
    await this.#connection.write(confirmReminder(interruptId, this.#now));
  }

  async listRuns(query: RunQuery): Promise<Page<RunRecord>> {
    const rows = await this.#connection.read(allOf<RunRow>(runsSql(query, RUNS_DIALECT)));
    return pageOfRuns(rows, query);
  }

  async listInterrupts(query: InterruptQuery): Promise<Page<InterruptRecord>> {
    const rows = await this.#connection.read(allOf<InterruptRow>(interruptsSql(query, SQLITE_DIALECT)));
    return pageOfInterrupts(rows, query);
  }

  async interrupt(id: string): Promise<InterruptRecord | undefined> {
    if (!isStorable(id)) return undefined;
    const row = await this.#connection.read((prepare) => prepare(INTERRUPT).get(id) as InterruptRow | undefined);
    return row && interruptOf(row);
  }

  async countRuns(): Promise<RunCounts> {
    return countsOf(await this.#connection.read(allOf<CountRow>(COUNT_RUNS)));
  }

  async stats(query: StatsQuery): Promise<Stats> {
    const request = readStatsQuery(query, this.#now());
    return statsOf(await this.#connection.read(allOf<StatsRow>(statsSql(request, SQLITE_DIALECT))), request);
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

const CLAIM = `UPDATE countersign_run SET claim_token = ?, claim_until = ?
  WHERE id = ? AND ${EXISTS} AND (claim_token = ? OR ${isFree('?')})
  RETURNING seq`;

const RENEW = 'UPDATE countersign_run SET claim_until = ? WHERE id = ? AND claim_token = ? RETURNING seq';

const RELEASE = 'UPDATE countersign_run SET claim_token = NULL, claim_until = NULL WHERE id = ? AND claim_token = ?';

const DUE = `SELECT id FROM countersign_run
  WHERE due_at <= ? AND ${isFree('?')}
    AND (? IS NULL OR agent IN (SELECT value FROM json_each(?))) ORDER BY due_at LIMIT ?`;

const INTERRUPT = `SELECT ${interruptFields('i')} FROM countersign_interrupt i WHERE id = ?`;

const COUNT_RUNS: Sql = {
  text: 'SELECT status, count(*) AS count FROM countersign_run GROUP BY status',
  values: [],
};

const CHANGES = `SELECT e.seq, r.id FROM countersign_event e JOIN countersign_run r ON r.seq = e.run_seq
  WHERE e.seq > ? ORDER BY e.seq`;

function allOf<Row>({ text, values }: Sql): Job<readonly Row[]> {
  return (prepare) => prepare(text).all(...values) as unknown as readonly Row[];
}

/** 0 before the tables exist. */
const lastEvent: Job<number> = (prepare) => {
  const table = prepare("SELECT 1 FROM sqlite_schema WHERE name = 'countersign_event'").get();
  return table === undefined ? 0 : Number(prepare('SELECT max(seq) AS seq FROM countersign_event').get()?.seq ?? 0);
};

/** Changes when another connection has written. */
const readDataVersion: Job<number> = (prepare) => Number(prepare('PRAGMA data_version').get()?.data_version);

function changesAfter(seen: number): Job<readonly { readonly seq: number; readonly id: string }[]> {
  return (prepare) =>
    prepare(CHANGES)
      .all(seen)
      .map(({ seq, id }) => ({ seq: Number(seq), id: String(id) }));
}
