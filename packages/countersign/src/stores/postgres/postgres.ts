// The entry point `countersign/postgres`: runs in PostgreSQL, shared by any number of processes.
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { InvariantError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Notes } from '../../runs/port/notes.ts';
import { MOST_PAGE_EVENTS } from '../../runs/port/page.ts';
import type { Stats, StatsQuery } from '../../runs/port/stats.ts';
import type {
  AgentQueue,
  Append,
  Appended,
  LoadedRun,
  Page,
  ReadOptions,
  RequestQuery,
  RequestRecord,
  RunCounts,
  RunQuery,
  RunRecord,
  Store,
  UntoldRequest,
} from '../../runs/port/store.ts';
import { type PendingTool, pendingRows } from '../rules/count-stats.ts';
import { STARTER } from '../rules/deciders.ts';
import { createNotes } from '../rules/notes.ts';
import { readEventLimit } from '../rules/page.ts';
import { checkAppend, isStorable, openedTwice, refusalOf } from '../rules/refusals.ts';
import { SettledParts } from '../rules/settled-parts.ts';
import { readStatsQuery, type StatsRow, statsOf } from '../rules/stats.ts';
import { createWatchers, type Watchers } from '../rules/watchers.ts';
import { type EncodedAppend, encodeAppend } from '../sql/encode.ts';
import { requestsSql, runsSql } from '../sql/list-query.ts';
import {
  type CountRow,
  countsOf,
  DELETED,
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
import { eachSettled } from '../sql/settled-query.ts';
import { type AppendedRow, appendStatements, type Prepared } from './append.ts';
import { type Batches, createBatches } from './batches.ts';
import { connectTo, type OwnPool } from './connect.ts';
import { hasAnswered, postgresFailure, violatedConstraint } from './failure.ts';
import { PostgresNotes } from './notes.ts';
import { checkOptions } from './options.ts';
import {
  ask,
  closedError,
  ignoreLostConnections,
  type PostgresPool,
  retrySerialization,
  run,
  type Statement,
} from './pool.ts';
import { migratePostgres, type Tables, tablesIn } from './schema.ts';
import { postgresStatements, type RefusalRow, type Statements } from './statements.ts';
import { connectIfSpare, PostgresAnnouncer, watchPostgres } from './watch.ts';

export type { PostgresClient, PostgresPool, PostgresResult } from './pool.ts';

/** Options of `postgresStore`: an address, or your own pool. */
export type PostgresStoreOptions = {
  /**
   * The schema of the tables, created if it does not exist. Default: the first schema of the search path that has the tables;
   * they are created in the first schema.
   */
  readonly schema?: string;
} & (
  | { readonly pool: PostgresPool }
  | {
      /** The address, as in `postgres://user:password@host:5432/database`. Needs the package `pg`. */
      readonly url: string;
      /** The most connections, besides one that listens while someone watches. Default: 10. */
      readonly poolMax?: number;
    }
);

/**
 * Keeps runs in PostgreSQL. The tables are created when first needed. When a call resolves, its writes are durable. The
 * address must be that of the primary, never of a read replica.
 * Your own pool stays yours: `close` leaves it open. Its `error` events, from idle connections that were lost, no longer end
 * the process.
 */
export function postgresStore(options: string | PostgresPool | PostgresStoreOptions): Store {
  if (typeof options === 'string') return postgresStore({ url: options });
  if (isObject(options) && 'query' in options) return postgresStore({ pool: options as PostgresPool });
  checkOptions(options);
  return new PostgresStore(options as PostgresStoreOptions);
}

class PostgresStore implements Store {
  readonly #options: PostgresStoreOptions;
  readonly #tables: Tables;
  readonly #sql: Statements;
  readonly #watcherId = randomInt(2 ** 47);
  readonly #append: Batches<EncodedAppend, AppendedRow>;
  readonly #read: Batches<Reading, LoadedRow>;
  readonly #settled: SettledParts;
  readonly #watchers: Watchers;
  readonly #announcer: PostgresAnnouncer;
  readonly notes: Notes;
  #ownPool: OwnPool | undefined;
  #ready: Promise<PostgresPool> | undefined;
  /** The pool while the store is open. */
  #opened: PostgresPool | undefined;
  /** Aborted by `close`. */
  readonly #stop = new AbortController();
  #inProgress = 0;
  /** While closing, resolves once no query is in progress. */
  readonly #idle = Promise.withResolvers<void>();
  #closing: Promise<void> | undefined;

  constructor(options: PostgresStoreOptions) {
    this.#options = options;
    if ('pool' in options) ignoreLostConnections(options.pool);
    this.#tables = tablesIn(options.schema);
    this.#sql = postgresStatements(this.#tables);
    this.notes = createNotes(new PostgresNotes((statement, values) => this.#rows(statement, values), this.#tables));
    this.#settled = new SettledParts(
      (since, until, add) => eachSettled(since, until, add, (values) => this.#rows(this.#sql.settled, [...values])),
      async (since) => (await this.#rows<{ readonly at: number }>(this.#sql.firstSettled, [since]))[0]?.at,
    );
    const prepareAppend = appendStatements(this.#tables, this.#watcherId);
    // Sorted by id: every process locks the runs in this order.
    this.#append = this.#batched(prepareAppend);
    this.#read = this.#batched((readings) => {
      const runIds = readings.map(({ runId }) => runId);
      const [after, limits] = [readings.map(({ after }) => after), readings.map(({ limit }) => limit)];
      const { read, readSeveral } = this.#sql;
      return runIds.length === 1
        ? { statement: read, values: [runIds[0], after[0], limits[0]] }
        : { statement: readSeveral, values: [runIds, after, limits] };
    });
    // Writes that finished before `close` are still announced.
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
    const mark = append.status === 'running' ? undefined : this.#announcer.expect(append.runId);
    try {
      row = await this.#append(encodeAppend(append));
    } catch (error) {
      const constraint = violatedConstraint(error);
      if (constraint === 'countersign_request_pkey') throw openedTwice(append.runId, openedIds(append));
      // Others wrote at the same time: the current rows say why this append was refused.
      if (constraint !== 'countersign_run_pkey') throw postgresFailure(error);
    }
    if (row === undefined) throw await this.#refusalOf(append);
    if (append.at !== undefined && append.settled.length > 0) this.#settled.forget();
    this.#changed(append.runId, row, mark);
    return { claimed: row.claimed };
  }

  async read(runId: string, { after: asked = 0, limit }: ReadOptions = {}): Promise<LoadedRun | undefined> {
    if (!isStorable(runId)) return undefined;
    const reading = { runId, after: Math.min(asked, MOST_EVENTS), limit: readEventLimit(limit) };
    let row: LoadedRow | undefined;
    try {
      row = await this.#read(reading);
    } catch (error) {
      throw postgresFailure(error);
    }
    return row && loadedOf(row, reading.after, reading.limit);
  }

  async delete(runId: string): Promise<boolean> {
    const [row] = await this.#rows<{ readonly watched: boolean }>(this.#sql.delete, [runId, this.#watcherId]);
    if (row === undefined) return false;
    this.#settled.forget();
    this.#changed(runId, row);
    return true;
  }

  async claim(runId: string, token: string, leaseMs: number): Promise<LoadedRun | undefined> {
    const [row] = await this.#rows<LoadedRow>(this.#sql.claim, [runId, token, Math.ceil(leaseMs)]);
    // If an append came in between, the claim is on the run after it, but the events are from before.
    return row && loadedOf(row, 0, MOST_PAGE_EVENTS);
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

  async queue(): Promise<readonly AgentQueue[]> {
    return (await this.#rows<QueueRow>(this.#sql.queue, [])).map(queueOf);
  }

  async takeUntold(limit: number, leaseMs: number): Promise<readonly UntoldRequest[]> {
    return untoldOf(await this.#rows<UntoldRow>(this.#sql.takeUntold, [limit, Math.ceil(leaseMs)]));
  }

  async told(id: string, news: number): Promise<void> {
    await this.#rows(this.#sql.told, [id, news]);
  }

  async listRuns(query: RunQuery): Promise<Page<RunRecord>> {
    const { text, values } = runsSql(query, this.#sql.dialect);
    return pageOfRuns(await this.#rows<RunRow>({ text }, [...values]), query);
  }

  async listRequests(query: RequestQuery): Promise<Page<RequestRecord>> {
    const { text, values } = requestsSql(query, this.#sql.dialect);
    return pageOfRequests(await this.#rows<RequestRow>({ text }, [...values]), query);
  }

  async request(id: string): Promise<RequestRecord | undefined> {
    const [row] = await this.#rows<RequestRow>(this.#sql.request, [id]);
    return row && requestOf(row);
  }

  async countRuns(): Promise<RunCounts> {
    return countsOf(await this.#rows<CountRow>(this.#sql.countRuns, []));
  }

  async stats(query: StatsQuery): Promise<Stats> {
    const now = await this.now();
    const request = readStatsQuery(query, now);
    const pending = await this.#pending(request.startedBy);
    return statsOf([...pending, ...(await this.#settled.rows(request, now))], request);
  }

  async #pending(startedBy: string | undefined): Promise<readonly StatsRow[]> {
    if (startedBy !== undefined) return pendingRows(await this.#rows(this.#sql.pendingOf, [STARTER + startedBy]));
    const rows = await this.#rows<PendingTool & { readonly changes: number }>(this.#sql.pending, []);
    const changes = rows.reduce((sum, row) => sum + row.changes, 0);
    if (changes > rows.length + MOST_CHANGES) await this.#rows(this.#sql.sumPending, []);
    return pendingRows(rows.map(({ changes: _, ...row }) => row));
  }

  async now(): Promise<number> {
    const [row] = await this.#rows<{ readonly now: number }>(this.#sql.now, []);
    if (row === undefined) throw new InvariantError('invariant', {}, 'The database did not return its time.');
    return row.now;
  }

  /** Tables that were restored have other numbers. A physical copy of the whole cluster has the same. */
  async identity(): Promise<string | undefined> {
    const [row] = await this.#rows<{ readonly identity: string }>(this.#sql.identity, []);
    return row?.identity;
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

  /** The timer also keeps the process alive, which an idle connection does not. */
  async #closeSoon(): Promise<void> {
    const closed = new AbortController();
    const isLong = delay(CLOSE_MS, undefined, { signal: closed.signal });
    const givingUp = isLong.then(() => this.#ownPool?.abandon()).catch(() => undefined);
    await Promise.race([this.#close().finally(() => closed.abort()), givingUp]);
  }

  /** Waits for queries in progress: the owner of the pool may end it next, and they would never be answered. */
  async #close(): Promise<void> {
    this.#stop.abort(closedError());
    this.#opened = undefined;
    if (this.#inProgress > 0) await this.#idle.promise;
    // Callers get their answers first, and their writes are announced.
    await new Promise(setImmediate);
    await this.#watchers.clear();
    await this.#announcer.close();
    // A pool that is being opened is closed as well.
    await this.#ready?.catch(() => undefined);
    await this.#ownPool?.close();
  }

  async #answered<Row>(
    pool: PostgresPool,
    statement: Statement | { readonly text: string },
    values: unknown[],
  ): Promise<readonly Row[]> {
    if (this.#stop.signal.aborted) throw closedError();
    this.#inProgress += 1;
    try {
      const send = () => ('name' in statement ? run(pool, statement, values) : ask(pool, statement.text, values));
      return (await retrySerialization(send)).rows;
    } finally {
      this.#inProgress -= 1;
      if (this.#stop.signal.aborted && this.#inProgress === 0) this.#idle.resolve();
    }
  }

  /** Resolves once the tables are up to date. After a failure, the next call tries again. */
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

  #batched<Job extends { readonly runId: string }, Row extends { readonly id: string }>(
    prepare: (jobs: readonly Job[]) => Prepared,
  ): Batches<Job, Row> {
    return createBatches({
      keyOf: ({ runId }) => runId,
      // A batch that is too large was not sent.
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
    // PostgreSQL cannot store such a name, so nothing is found by it.
    if (values.some((value) => typeof value === 'string' && !isStorable(value))) return [];
    try {
      return await this.#answered(await this.#pool(), statement, values);
    } catch (error) {
      throw postgresFailure(error);
    }
  }

  /** Judged by the current rows: a lost claim stays lost, and so does a version. What is left of a start is its freezes. */
  async #refusalOf(append: Append): Promise<Error> {
    const ids = [...append.settled, ...(append.progressed ?? [])].map(({ id }) => id);
    const [row] = await this.#rows<RefusalRow>(this.#sql.refusal, [append.runId, ids]);
    const claim = row?.token == null ? undefined : { token: row.token, until: row.until };
    const stored = {
      run: row?.version === DELETED.version ? ('deleted' as const) : row && { version: row.version, claim },
      isInterrupt: () => false,
      isPending: (id: string) => row?.waiting.includes(id) ?? false,
    };
    return refusalOf(append, stored, row?.now ?? 0) ?? postgresFailure(new Error('others wrote at the same time'));
  }

  #changed(runId: string, { watched }: { readonly watched: boolean }, mark?: string): void {
    this.#watchers.notify(runId);
    this.#announcer.announce(runId, watched, mark);
  }
}

/** So many changes are read with the number of pending requests before they are put together. */
const MOST_CHANGES = 1_000;

/** How long `close` waits for a pool that does not answer. */
const CLOSE_MS = 10_000;

/** More than any run has, and less than the limit of `asOneRow`. */
const MOST_EVENTS = 2_147_483_646;

type Reading = { readonly runId: string; readonly after: number; readonly limit: number };

function openedIds({ opened }: Append): string {
  return opened.map(({ id }) => id).join(' or ');
}
