// The door `countersign/postgres`: runs in PostgreSQL, shared by any number of processes.
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { InvariantError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
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
import { readLimit } from '../rules/page.ts';
import { canBeKept, checkAppend, openedTwice } from '../rules/refusals.ts';
import { searchWords } from '../rules/search-text.ts';
import { createWatchers, type Watchers } from '../rules/watchers.ts';
import { interruptsSql, type Sql } from '../sql/list-query.ts';
import { type ReminderRow, remindersOf } from '../sql/reminders.ts';
import {
  type CountRow,
  countsOf,
  type InterruptRow,
  interruptOf,
  type LoadedRow,
  loadedOf,
  pageOfInterrupts,
  pageOfRuns,
  partOf,
  type RunRow,
} from '../sql/rows.ts';
import { searchList } from '../sql/search-list.ts';
import { mayBeIndexed, walkSearch } from '../sql/search-walk.ts';
import { readStatsQuery, type StatsRow, statsOf, statsSql } from '../sql/stats-query.ts';
import { type AppendedRow, appendStatements, type Prepared } from './append.ts';
import { createTogether, type Together } from './batches.ts';
import { connectTo, type OwnPool } from './connect.ts';
import { type DeletedRow, deleteStatement } from './delete.ts';
import { type EncodedAppend, encodeAppend } from './encoded.ts';
import { hasAnswered, postgresFailure, violatedConstraint } from './failure.ts';
import { PostgresNotes } from './notes.ts';
import { checkOptions, missingAddress } from './options.ts';
import {
  ask,
  closedError,
  ignoreLostConnections,
  type PostgresPool,
  retrySerialization,
  run,
  type Statement,
} from './pool.ts';
import { postgresRefusal, type RefusalRow } from './refusal.ts';
import { migratePostgres, type Tables, tablesIn } from './schema.ts';
import { postgresSearchSql } from './search.ts';
import { preparePostgresSearch, searchPreparedSql } from './search-schema.ts';
import { type PostgresSql, postgresSql, runsSql } from './sql.ts';
import { connectIfSpare, PostgresAnnouncer, watchPostgres } from './watch.ts';

export type { PostgresClient, PostgresPool, PostgresResult } from './pool.ts';

/** Where the database is: an address, or a pool of yours. */
export type PostgresStoreOptions = {
  /**
   * The schema of the tables; it is made if it is not there. Unless given, they are found as any name without a schema:
   * in the first schema of the search path that has them, and made in the first of all.
   */
  readonly schema?: string;
} & (
  | { readonly pool: PostgresPool }
  | {
      /** The address, as in `postgres://user:password@host:5432/database`. Needs the package `pg`. */
      readonly url: string;
      /** How many connections are open at most, besides one that listens while somebody watches; 10 unless given. */
      readonly poolMax?: number;
    }
);

/**
 * Keeps runs in PostgreSQL. The tables are made when first needed. What a call has written is durable when it resolves;
 * the address must be that of the primary, never of a replica for reading.
 * A pool that was given stays the caller's: `close` leaves it open. Its `error` events, of connections that were lost while
 * idle, do not end the process any more.
 */
export function postgresStore(options: string | PostgresPool | PostgresStoreOptions): Store {
  if (typeof options === 'string') return postgresStore({ url: options });
  if (!isObject(options)) throw missingAddress(options);
  if ('query' in options) return postgresStore({ pool: options });
  checkOptions(options);
  return new PostgresStore(options);
}

class PostgresStore implements Store {
  readonly #options: PostgresStoreOptions;
  readonly #tables: Tables;
  readonly #sql: PostgresSql;
  readonly #delete: Statement;
  readonly #watcherId = randomInt(2 ** 47);
  readonly #append: Together<EncodedAppend, AppendedRow>;
  readonly #read: Together<Reading, LoadedRow>;
  readonly #watchers: Watchers;
  readonly #announcer: PostgresAnnouncer;
  readonly notes: Notes;
  #ownPool: OwnPool | undefined;
  #ready: Promise<PostgresPool> | undefined;
  /** The pool, once it is ready and until it is closed. */
  #opened: PostgresPool | undefined;
  /** Aborted when it is closed: ends what would go on for long, and whose end nobody needs. */
  readonly #stop = new AbortController();
  #underWay = 0;
  /** Resolves when nothing is under way any more, while closing. */
  readonly #idle = Promise.withResolvers<void>();
  #closing: Promise<void> | undefined;
  #searchPrepared = false;

  constructor(options: PostgresStoreOptions) {
    this.#options = options;
    if ('pool' in options) ignoreLostConnections(options.pool);
    this.#tables = tablesIn(options.schema);
    this.#sql = postgresSql(this.#tables);
    this.#delete = deleteStatement(this.#tables);
    this.notes = new PostgresNotes((statement, values) => this.#rows(statement, values), this.#tables);
    const prepareAppend = appendStatements(this.#tables, this.#watcherId);
    // In the order of their ids: that is the order in which every process locks the runs.
    this.#append = this.#together((appends) => prepareAppend(appends, this.#announcer.asksWatched()));
    this.#read = this.#together((readings) => {
      const [runIds, after] = [readings.map(({ runId }) => runId), readings.map(({ after }) => after)];
      const { read, readSeveral } = this.#sql;
      return runIds.length === 1
        ? { statement: read, values: [runIds[0], after[0]] }
        : { statement: readSeveral, values: [runIds, after] };
    });
    // What was written before it was closed is still announced.
    const connection = {
      pool: () => this.#ready ?? this.#pool(),
      connect: (pool: PostgresPool) =>
        this.#ownPool === undefined ? connectIfSpare(pool) : this.#ownPool.connectListener(),
      tables: this.#tables,
      watcherId: this.#watcherId,
    };
    this.#announcer = new PostgresAnnouncer(connection);
    this.#watchers = createWatchers(() => watchPostgres(connection, (runId) => this.#watchers.notify(runId)));
  }

  async append(append: Append): Promise<Appended> {
    checkAppend(append);
    let row: AppendedRow | undefined;
    try {
      row = await this.#append(encodeAppend(append));
    } catch (error) {
      const constraint = violatedConstraint(error);
      if (constraint === 'countersign_interrupt_pkey') throw openedTwice(append.runId, openedIds(append));
      // Others wrote at the same moment: what there is now says why this one was refused.
      if (constraint !== 'countersign_run_pkey') throw postgresFailure(error);
    }
    if (row === undefined) throw await this.#refusalOf(append);
    this.#changed(append.runId, row);
    return { claimed: row.claimed };
  }

  async read(runId: string, { after: asked = 0, limit }: ReadOptions = {}): Promise<LoadedRun | undefined> {
    if (!canBeKept(runId)) return undefined;
    const after = Math.min(asked, MOST_EVENTS);
    if (limit !== undefined) {
      const [part] = await this.#rows<LoadedRow>(this.#sql.readPart, [
        runId,
        after,
        Math.min(readLimit(limit), MOST_EVENTS),
      ]);
      return part === undefined ? undefined : partOf(part, after, limit);
    }
    let row: LoadedRow | undefined;
    try {
      row = await this.#read({ runId, after });
    } catch (error) {
      throw postgresFailure(error);
    }
    return row === undefined ? undefined : loadedOf(row, after);
  }

  async delete(runId: string): Promise<boolean> {
    const [row] = await this.#rows<DeletedRow>(this.#delete, [runId, this.#watcherId]);
    if (row !== undefined) this.#changed(runId, row);
    return row !== undefined;
  }

  async claim(runId: string, token: string, leaseMs: number): Promise<LoadedRun | undefined> {
    const [row] = await this.#rows<LoadedRow>(this.#sql.claim, [runId, token, Math.ceil(leaseMs)]);
    if (row === undefined) return undefined;
    const loaded = loadedOf(row, 0);
    // An append came between: the claim was taken on the run after it, but the events are those from before.
    return loaded.events.length === loaded.run.version ? loaded : this.read(runId);
  }

  async renew(runId: string, token: string, leaseMs: number): Promise<boolean> {
    const rows = await this.#rows(this.#sql.renew, [runId, token, Math.ceil(leaseMs)]);
    return rows.length > 0;
  }

  async release(runId: string, token: string): Promise<void> {
    await this.#rows(this.#sql.release, [runId, token]);
  }

  async due(limit: number, agents?: readonly string[]): Promise<readonly string[]> {
    const rows = await this.#rows<{ readonly id: string }>(this.#sql.due, [limit, agents ?? null]);
    return rows.map(({ id }) => id);
  }

  async takeReminders(limit: number, leaseMs: number): Promise<readonly TakenReminder[]> {
    return remindersOf(await this.#rows<ReminderRow>(this.#sql.takeReminders, [limit, Math.ceil(leaseMs)]));
  }

  async reminded(interruptId: string): Promise<void> {
    await this.#rows(this.#sql.reminded, [interruptId]);
  }

  async listRuns(query: RunQuery): Promise<Page<RunRecord>> {
    const { text, values } = runsSql(query, this.#tables);
    const rows = await this.#rows<RunRow>({ text }, [...values]);
    return pageOfRuns(rows, query);
  }

  async listInterrupts(query: InterruptQuery): Promise<Page<InterruptRecord>> {
    const words = searchWords(query.search);
    const list = <Row>({ text, values }: Sql) => this.#rows<Row>({ text }, [...values]);
    const { dialect } = this.#sql;
    const listed = (asked: InterruptQuery) => list<InterruptRow>(interruptsSql(asked, dialect));
    if (words.length === 0) return pageOfInterrupts(await listed(query), query);
    const isIndexed = mayBeIndexed(query) && (await this.#isSearchPrepared());
    if (!isIndexed) return walkSearch(query, words, listed);
    const near = await searchList(query, words, dialect, list);
    const rows = near ?? (await list<InterruptRow>(postgresSearchSql(query, words, this.#tables, dialect)));
    return pageOfInterrupts(rows, query);
  }

  async interrupt(id: string): Promise<InterruptRecord | undefined> {
    const [row] = await this.#rows<InterruptRow>(this.#sql.interrupt, [id]);
    return row === undefined ? undefined : interruptOf(row);
  }

  async countRuns(): Promise<RunCounts> {
    return countsOf(await this.#rows<CountRow>(this.#sql.countRuns, []));
  }

  async stats(query: StatsQuery): Promise<Stats> {
    const request = readStatsQuery(query, await this.now());
    const { text, values } = statsSql(request, this.#sql.dialect);
    return statsOf(await this.#rows<StatsRow>({ text }, [...values]), request);
  }

  async prepareSearch(): Promise<void> {
    try {
      await preparePostgresSearch(await this.#pool(), this.#tables, this.#stop.signal);
    } catch (error) {
      throw postgresFailure(error);
    }
  }

  async now(): Promise<number> {
    const [row] = await this.#rows<{ readonly now: number }>(this.#sql.now, []);
    if (row === undefined) throw new InvariantError('invariant', {}, 'The database did not tell the time.');
    return row.now;
  }

  watch(changed: (runId: string) => void): () => void {
    return this.#watchers.add(changed);
  }

  async migrate(): Promise<void> {
    await this.#pool().catch((error: unknown) => {
      throw postgresFailure(error);
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeSoon();
    return this.#closing;
  }

  /** The timer also keeps the process alive: an idle connection does not. */
  async #closeSoon(): Promise<void> {
    const closed = new AbortController();
    const isLong = delay(CLOSE_MS, undefined, { signal: closed.signal });
    const patience = isLong.then(() => this.#ownPool?.abandon()).catch(() => undefined);
    await Promise.race([this.#close().finally(() => closed.abort()), patience]);
  }

  /** What is under way ends first: a pool that its owner ends next would leave it without an answer. */
  async #close(): Promise<void> {
    this.#stop.abort(closedError());
    this.#opened = undefined;
    if (this.#underWay > 0) await this.#idle.promise;
    // Whoever asked hears of it before, and what they wrote is announced.
    await new Promise(setImmediate);
    await this.#watchers.clear();
    await this.#announcer.close();
    // A pool that is just being opened is closed as well; whoever waits for it is told.
    await this.#ready?.catch(() => undefined);
    await this.#ownPool?.close();
  }

  async #answered<Row>(
    pool: PostgresPool,
    statement: Statement | { readonly text: string },
    values: unknown[],
  ): Promise<readonly Row[]> {
    if (this.#stop.signal.aborted) throw closedError();
    this.#underWay += 1;
    try {
      const send = () => ('name' in statement ? run(pool, statement, values) : ask(pool, statement.text, values));
      return (await retrySerialization(send)).rows;
    } finally {
      this.#underWay -= 1;
      if (this.#stop.signal.aborted && this.#underWay === 0) this.#idle.resolve();
    }
  }

  /** The pool, once its tables are up to date; tried again by the next call if that failed. */
  #pool(): Promise<PostgresPool> {
    if (this.#stop.signal.aborted) return Promise.reject(closedError());
    this.#ready ??= this.#open().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #open(): Promise<PostgresPool> {
    const options = this.#options;
    if ('url' in options) this.#ownPool ??= await connectTo(options.url, options.poolMax ?? 10);
    const pool = 'pool' in options ? options.pool : this.#ownPool?.pool;
    if (pool === undefined) throw closedError();
    await migratePostgres(pool, this.#tables, this.#stop.signal);
    if (!this.#stop.signal.aborted) this.#opened = pool;
    return pool;
  }

  /** Any process may have made the index. It stays. */
  async #isSearchPrepared(): Promise<boolean> {
    if (this.#searchPrepared) return true;
    const [row] = await this.#rows({ text: searchPreparedSql(this.#tables) }, []);
    this.#searchPrepared = row?.prepared === true;
    return this.#searchPrepared;
  }

  #together<Job extends { readonly runId: string }, Row extends { readonly id: string }>(
    prepare: (jobs: readonly Job[]) => Prepared,
  ): Together<Job, Row> {
    return createTogether({
      keyOf: ({ runId }) => runId,
      // What is too large to be sent together was not sent.
      canBeSentAlone: (error) => hasAnswered(error) || error instanceof RangeError,
      send: async (jobs) => {
        const { statement, values } = prepare(jobs);
        const rows = await this.#answered<Row>(this.#opened ?? (await this.#pool()), statement, values);
        if (jobs.length === 1) return rows;
        const byRun = new Map<string, Row>(rows.map((row) => [row.id, row]));
        return jobs.map(({ runId }) => byRun.get(runId));
      },
    });
  }

  async #rows<Row = any>(statement: Statement | { readonly text: string }, values: unknown[]): Promise<readonly Row[]> {
    // PostgreSQL has no text with a zero character: nothing is found by such a name.
    if (values.some((value) => typeof value === 'string' && !canBeKept(value))) return [];
    try {
      return await this.#answered(await this.#pool(), statement, values);
    } catch (error) {
      throw postgresFailure(error);
    }
  }

  /** Why an append changed nothing, seen from now: a claim that is lost stays lost, and so does a version. */
  async #refusalOf(append: Append): Promise<Error> {
    const ids = append.settled.map(({ id }) => id);
    const [row] = await this.#rows<RefusalRow>(this.#sql.refusal, [append.runId, ids]);
    return postgresRefusal(append, row) ?? postgresFailure(new Error('others wrote at the same moment'));
  }

  #changed(runId: string, { watched }: { readonly watched: boolean | null }): void {
    this.#watchers.notify(runId);
    this.#announcer.appended(runId, watched);
  }
}

/** A pool that never answers keeps nobody from closing. */
const CLOSE_MS = 10_000;

/** More than any run has, and less than the largest number of the column: `asOneRow`. */
const MOST_EVENTS = 2_147_483_646;

type Reading = { readonly runId: string; readonly after: number };

function openedIds({ opened }: Append): string {
  return opened.map(({ id }) => id).join(' or ');
}
