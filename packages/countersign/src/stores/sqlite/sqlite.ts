// The door `countersign/sqlite`: runs in one file, through Node's own SQLite. Several processes may share the file.
import { resolve } from 'node:path';
import { UsageError } from '../../core/errors.ts';
import { anything, checkOptions, type OptionTable } from '../../core/options.ts';
import type { Notes } from '../../runs/port/notes.ts';
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
import { readLimit, readPageRequest } from '../rules/page.ts';
import { canBeKept, checkAppend } from '../rules/refusals.ts';
import { searchWords } from '../rules/search-text.ts';
import { createWatchers, type StopListening, type Watchers } from '../rules/watchers.ts';
import { interruptsSql, type Sql } from '../sql/list-query.ts';
import { remindersOf } from '../sql/reminders.ts';
import {
  BATCH,
  type InterruptRow,
  IS_THERE,
  interruptOf,
  isFree,
  type LoadedRow,
  loadedOf,
  pageOfInterrupts,
  pageOfRuns,
  partOf,
  RUN_COLUMNS,
  type RunRow,
} from '../sql/rows.ts';
import { searchList } from '../sql/search-list.ts';
import { mayBeIndexed, walkSearch } from '../sql/search-walk.ts';
import { readStatsQuery, type StatsRow, statsOf, statsSql } from '../sql/stats-query.ts';
import { sqliteAppend } from './append.ts';
import { type Job, SqliteConnection } from './connection.ts';
import { countSqliteRuns, prepareSqliteCounts } from './counts.ts';
import { sqliteDelete } from './delete.ts';
import { interruptFields, runFields, SQLITE_DIALECT } from './dialect.ts';
import { SqliteNotes } from './notes.ts';
import { isReminderDue, strikeReminder, takeReminders } from './reminders.ts';
import { runRow } from './run.ts';
import { isSearchPrepared, prepareSqliteSearch, sqliteSearchSql } from './search.ts';

/** Where the file is, and how patient the store is. */
export type SqliteStoreOptions = {
  /** The file; it is made if it is not there. Its folder must exist, on a disk of this computer. */
  readonly path: string;
  /** How long a call waits while other processes write, in milliseconds; 10,000 unless given. */
  readonly busyTimeoutMs?: number;
  /** The clock, in milliseconds; that of the computer unless given. */
  readonly now?: () => number;
};

/**
 * Keeps runs in a SQLite file. Nothing is to be started or set up: the file and its tables are made when first needed.
 * What a call has written is on the disk when it resolves.
 */
export function sqliteStore(options: string | SqliteStoreOptions): Store {
  const given = (typeof options === 'string' ? { path: options } : options) ?? {};
  const { path, busyTimeoutMs = 10_000, now } = given;
  // To SQLite, an empty path is a file that nobody finds again.
  if (typeof path !== 'string' || path === '')
    throw new UsageError('invalid-options', { field: 'path' }, 'sqliteStore needs the path of its file.');
  checkOptions('`sqliteStore`', given, SQLITE_OPTIONS);
  // With what is no number, it would be waited for ever.
  if (!Number.isFinite(busyTimeoutMs) || busyTimeoutMs < 0) {
    const message = `\`busyTimeoutMs\` of sqliteStore is a number of milliseconds, not ${String(busyTimeoutMs)}.`;
    throw new UsageError('invalid-options', { field: 'busyTimeoutMs' }, message);
  }
  return new SqliteStore(fullPath(path), monotoneClock(now), busyTimeoutMs);
}

const SQLITE_OPTIONS: OptionTable<SqliteStoreOptions> = { path: anything, busyTimeoutMs: anything, now: anything };

/** As it is now: the file may be opened anew when the process is in another folder. */
function fullPath(path: string): string {
  return path === ':memory:' || path.startsWith('file:') ? path : resolve(path);
}

/** How often it is looked whether other processes wrote, while somebody watches. */
const POLL_MS = 200;

class SqliteStore implements Store {
  readonly #now: () => number;
  readonly #connection: SqliteConnection;
  readonly notes: Notes;
  readonly #watchers: Watchers = createWatchers(() => this.#listen());

  constructor(path: string, now: () => number, busyTimeoutMs: number) {
    this.#now = now;
    this.#connection = new SqliteConnection({ path, now, busyTimeoutMs });
    this.notes = new SqliteNotes(this.#connection, now);
  }

  async append(append: Append): Promise<Appended> {
    checkAppend(append);
    const appended = await this.#connection.write(sqliteAppend(append, this.#now));
    this.#watchers.notify(append.runId);
    return appended;
  }

  async read(runId: string, { after = 0, limit }: ReadOptions = {}): Promise<LoadedRun | undefined> {
    if (!canBeKept(runId)) return undefined;
    if (limit !== undefined) readLimit(limit);
    if (limit === undefined) {
      const row = await this.#connection.read((prepare) => runRow(runId, after, prepare));
      return row && loadedOf(row, after);
    }
    const part = await this.#connection.read(
      (prepare) => prepare(READ_PART).get(after, limit, runId) as LoadedRow | undefined,
    );
    return part && partOf(part, after, limit);
  }

  async delete(runId: string): Promise<boolean> {
    if (!canBeKept(runId)) return false;
    const deleted = await this.#connection.write(sqliteDelete(runId, this.#now));
    if (deleted) this.#watchers.notify(runId);
    return deleted;
  }

  async claim(runId: string, token: string, leaseMs: number): Promise<LoadedRun | undefined> {
    if (!canBeKept(runId)) return undefined;
    const row = await this.#connection.write((prepare) => {
      const now = this.#now();
      const claimed = prepare(CLAIM).get(token, now + Math.ceil(leaseMs), runId, token, now);
      return claimed && runRow(runId, 0, prepare);
    });
    return row && loadedOf(row, 0);
  }

  async renew(runId: string, token: string, leaseMs: number): Promise<boolean> {
    return this.#connection.write((prepare) => {
      return prepare(RENEW).get(this.#now() + Math.ceil(leaseMs), runId, token) !== undefined;
    });
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
    await this.#connection.write(strikeReminder(interruptId, this.#now));
  }

  async listRuns(query: RunQuery): Promise<Page<RunRecord>> {
    const rows = await this.#connection.read(allOf<RunRow>(runsSql(query)));
    return pageOfRuns(rows, query);
  }

  async listInterrupts(query: InterruptQuery): Promise<Page<InterruptRecord>> {
    const words = searchWords(query.search);
    const list = (asked: InterruptQuery) =>
      this.#connection.read(allOf<InterruptRow>(interruptsSql(asked, SQLITE_DIALECT)));
    if (words.length === 0) return pageOfInterrupts(await list(query), query);
    const isIndexed = mayBeIndexed(query) && (await this.#connection.read(isSearchPrepared));
    if (!isIndexed) return walkSearch(query, words, list);
    const rowsOf = (sql: Sql) => this.#connection.read(allOf<InterruptRow>(sql));
    const near = await searchList(query, words, SQLITE_DIALECT, rowsOf);
    const rows = near ?? (await rowsOf(sqliteSearchSql(query, words, SQLITE_DIALECT)));
    return pageOfInterrupts(rows, query);
  }

  async interrupt(id: string): Promise<InterruptRecord | undefined> {
    if (!canBeKept(id)) return undefined;
    const row = await this.#connection.read((prepare) => prepare(INTERRUPT).get(id) as InterruptRow | undefined);
    return row && interruptOf(row);
  }

  async countRuns(): Promise<RunCounts> {
    return this.#connection.read(countSqliteRuns);
  }

  async stats(query: StatsQuery): Promise<Stats> {
    const request = readStatsQuery(query, this.#now());
    return statsOf(await this.#connection.read(allOf<StatsRow>(statsSql(request, SQLITE_DIALECT))), request);
  }

  async prepareSearch(): Promise<void> {
    await this.#connection.write((prepare) => {
      prepareSqliteSearch(prepare);
      prepareSqliteCounts(prepare);
    });
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

  /** Events are only ever added, so the last one that was seen says which are new. */
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

const READ_PART = `SELECT ${RUN_COLUMNS.join(', ')}, (
    SELECT group_concat(${BATCH}, char(10) ORDER BY version) FROM (
      SELECT events, version FROM countersign_event WHERE run_seq = r.seq AND version > ? ORDER BY version LIMIT ?
    )
  ) AS batches
  FROM countersign_run r WHERE id = ? AND ${IS_THERE}`;

const CLAIM = `UPDATE countersign_run SET claim_token = ?, claim_until = ?
  WHERE id = ? AND ${IS_THERE} AND (claim_token = ? OR ${isFree('?')})
  RETURNING seq`;

const RENEW = 'UPDATE countersign_run SET claim_until = ? WHERE id = ? AND claim_token = ? RETURNING seq';

const RELEASE = 'UPDATE countersign_run SET claim_token = NULL, claim_until = NULL WHERE id = ? AND claim_token = ?';

const DUE = `SELECT id FROM countersign_run
  WHERE due_at <= ? AND ${isFree('?')}
    AND (? IS NULL OR agent IN (SELECT value FROM json_each(?))) ORDER BY due_at LIMIT ?`;

const INTERRUPT = `SELECT ${interruptFields('i')} FROM countersign_interrupt i WHERE id = ?`;

const CHANGES = `SELECT e.seq, r.id FROM countersign_event e JOIN countersign_run r ON r.seq = e.run_seq
  WHERE e.seq > ? ORDER BY e.seq`;

function runsSql(query: RunQuery): Sql {
  const { after, limit } = readPageRequest(query);
  const oldest = query.order === 'oldest';
  const values: (string | number)[] = [];
  const conditions = [`r.${IS_THERE}`];
  const asked = { status: query.status, agent: query.agent, started_by: query.startedBy };
  for (const [column, value] of Object.entries(asked)) {
    if (value === undefined) continue;
    conditions.push(`r.${column} = ?`);
    values.push(value);
  }
  if (after !== undefined) {
    conditions.push(`r.seq ${oldest ? '>' : '<'} ?`);
    values.push(after.seq);
  }
  const text = `SELECT ${runFields('r')} FROM countersign_run r WHERE ${conditions.join(' AND ')}
    ORDER BY r.seq ${oldest ? 'ASC' : 'DESC'} LIMIT ?`;
  return { text, values: [...values, limit + 1] };
}

function allOf<Row>({ text, values }: Sql): Job<readonly Row[]> {
  return (prepare) => prepare(text).all(...values) as unknown as readonly Row[];
}

/** 0 when there are no tables yet. */
const lastEvent: Job<number> = (prepare) => {
  const table = prepare("SELECT 1 FROM sqlite_schema WHERE name = 'countersign_event'").get();
  return table === undefined ? 0 : Number(prepare('SELECT max(seq) AS seq FROM countersign_event').get()?.seq ?? 0);
};

/** It changes when another connection has written. */
const readDataVersion: Job<number> = (prepare) => Number(prepare('PRAGMA data_version').get()?.data_version);

function changesAfter(seen: number): Job<readonly { readonly seq: number; readonly id: string }[]> {
  return (prepare) =>
    prepare(CHANGES)
      .all(seen)
      .map(({ seq, id }) => ({ seq: Number(seq), id: String(id) }));
}
