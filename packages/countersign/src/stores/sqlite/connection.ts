// The connection to one SQLite file. What is written at the same time becomes durable in one transaction.
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { CountersignError, ProviderError } from '../../core/errors.ts';
import { isBusy, isOfFile, movedFile, opensAnew, sqliteFailure, twoNames } from './failure.ts';
import { type FilePlace, isSamePlace, otherNameOf, placeOfFile, placesBeside } from './file.ts';
import { isMigratedSqlite, migrateSqlite } from './schema.ts';

export type SqliteOptions = { readonly path: string; readonly now: () => number; readonly busyTimeoutMs: number };

/** Something to do on the file. One that writes checks before it does: when it refuses, it has written nothing. */
export type Job<T> = (prepare: Prepare) => T;

/**
 * Each text is compiled once, always for the same kind of rows: objects, or arrays for `valuesOf`, which cost half.
 * What writes goes by `get`, which costs less than `run`, too. `run` is for the number of a row that was just added: it tells
 * the last one of the connection in any case, and Node 26 fails if that is as large as those of the index of words.
 */
export type Prepare = (text: string, rows?: 'arrays') => StatementSync;

type QueuedJob = {
  readonly job: Job<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
};

/** SQLite itself waits this long for a lock, during which nothing else happens in this process; then we wait. */
const BLOCKING_WAIT_MS = 10;
/** How many jobs become durable together at most, so that other processes get their turn. */
const GROUP = 64;

/** How often one job may follow another before the rest of this process gets its turn. */
const IN_A_ROW = 32;

export class SqliteConnection {
  readonly #options: SqliteOptions;
  #database: DatabaseSync | undefined;
  /** The file that is open, once something was written with its log and locks; none if it is not of the disk. */
  #places: readonly FilePlace[] = [];
  /** A disk that cannot have a log has none. */
  #isLogged = true;
  #statements = new Map<string, StatementSync>();
  #migrated: Promise<void> | undefined;
  /** Whose tables are known to be up to date. */
  #upToDate: DatabaseSync | undefined;
  #queue: QueuedJob[] = [];
  #draining: Promise<void> | undefined;
  #comeAlone = true;
  #inARow = 0;
  #closed = false;

  constructor(options: SqliteOptions) {
    this.#options = options;
  }

  /** Opens the file and brings its tables up to date, once; tried again by the next call if it failed. */
  migrate(): Promise<void> {
    this.#migrated ??= this.#migrate().catch((error: unknown) => {
      this.#migrated = undefined;
      throw this.#failure(error);
    });
    return this.#migrated;
  }

  async read<T>(job: Job<T>): Promise<T> {
    if (!this.#isMigrated) await this.migrate();
    try {
      return await this.#unlessBusy(() => job(this.#prepare));
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** Does the job in a transaction, together with others that were asked for meanwhile. Resolves once it is durable. */
  write<T>(job: Job<T>): Promise<T> {
    return this.#isMigrated ? this.#enqueue(job) : this.migrate().then(() => this.#enqueue(job));
  }

  /** Reads at once, without waiting for anything; undefined when that cannot be done now. */
  peek<T>(job: Job<T>): T | undefined {
    try {
      this.#open();
      return job(this.#prepare);
    } catch {
      // Busy, or not there yet: whoever peeks looks again later, and a real failure is told to those who read or write.
      return undefined;
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    while (this.#draining !== undefined) await this.#draining;
    this.#closed = true;
    this.#database?.close();
    this.#database = undefined;
  }

  readonly #prepare: Prepare = (text, rows) => {
    const database = this.#open();
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = database.prepare(text);
      // Node has it from 24 on.
      if (rows === 'arrays') statement.setReturnArrays?.(true);
      this.#statements.set(text, statement);
    }
    return statement;
  };

  #open(): DatabaseSync {
    if (this.#database !== undefined) return this.#database;
    const { path } = this.#options;
    if (this.#closed) throw closedError(path);
    const otherName = otherNameOf(path);
    if (otherName !== undefined) throw twoNames(path, otherName);
    const database = new DatabaseSync(path);
    try {
      database.exec(`PRAGMA busy_timeout = ${BLOCKING_WAIT_MS}`);
      const mode = (text: string) => database.prepare(text).get()?.journal_mode;
      this.#isLogged = mode('PRAGMA journal_mode') === 'wal' || mode('PRAGMA journal_mode = WAL') === 'wal';
      database.exec('PRAGMA synchronous = FULL');
    } catch (error) {
      database.close();
      throw error;
    }
    this.#statements = new Map();
    const place = placeOfFile(path);
    this.#places = place === undefined ? [] : [place];
    this.#database = database;
    return database;
  }

  async #migrate(): Promise<void> {
    const { path, now } = this.#options;
    const database = await this.#unlessBusy(() => {
      const opened = this.#open();
      return isMigratedSqlite(opened) ? opened : undefined;
    });
    if (database === undefined) {
      await this.#begin();
      this.#commit(() => migrateSqlite(this.#open(), path, now()));
    }
    this.#upToDate = database ?? this.#open();
  }

  get #isMigrated(): boolean {
    return this.#upToDate !== undefined && this.#upToDate === this.#database;
  }

  #enqueue<T>(job: Job<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ job, resolve, reject });
      this.#draining ??= this.#drainSoon();
    });
  }

  /**
   * Lets others go on first: what they write joins the same transaction. While jobs come alone, those that are ready now;
   * otherwise everything in this turn of the event loop.
   */
  #drainSoon(): Promise<void> {
    return new Promise<void>((resolve) => {
      const drain = (): void => resolve(this.#drain());
      this.#inARow += 1;
      if (this.#comeAlone && this.#inARow < IN_A_ROW) return process.nextTick(drain);
      this.#inARow = 0;
      setImmediate(drain);
    });
  }

  /** Waits for nothing while nobody else writes, so that no other work of this process comes in between. */
  async #drain(): Promise<void> {
    let jobs: readonly QueuedJob[] = [];
    const waiting = this.#queue.length;
    try {
      const begun = this.#begin();
      if (begun !== undefined) await begun;
      jobs = this.#queue.splice(0, GROUP);
      this.#comeAlone = jobs.length === 1;
      this.#writeTogether(jobs);
    } catch (error) {
      // What one of them did wrong is no matter of the others.
      if (jobs.length > 1 && !isOfFile(error)) await this.#writeEach(jobs);
      // All that were there have waited for the same.
      else this.#reject(jobs.length > 0 ? jobs : this.#queue.splice(0, waiting), error);
    }
    this.#draining = this.#queue.length > 0 ? this.#drainSoon() : undefined;
  }

  async #writeEach(jobs: readonly QueuedJob[]): Promise<void> {
    for (const [index, one] of jobs.entries()) {
      try {
        const begun = this.#begin();
        if (begun !== undefined) await begun;
        this.#writeTogether([one]);
      } catch (error) {
        // Where the file is the trouble, it is so for the others as well, and they need not wait for it in turn.
        if (isOfFile(error)) return this.#reject(jobs.slice(index), error);
        this.#reject([one], error);
      }
    }
  }

  #reject(jobs: readonly QueuedJob[], error: unknown): void {
    const failure = this.#failure(error);
    for (const { reject } of jobs) reject(failure);
  }

  /** In the transaction that was begun. If one job fails other than by refusing, none of them has happened. */
  #writeTogether(jobs: readonly QueuedJob[]): void {
    const settle: (() => void)[] = [];
    this.#commit(() => {
      for (const { job, resolve, reject } of jobs) {
        try {
          const value = job(this.#prepare) as never;
          settle.push(() => resolve(value));
        } catch (error) {
          if (!(error instanceof CountersignError)) throw error;
          settle.push(() => reject(error));
        }
      }
    });
    for (const tell of settle) tell();
  }

  #commit(work: () => void): void {
    const database = this.#open();
    try {
      work();
      this.#prepare('COMMIT').get();
    } catch (error) {
      try {
        database.exec('ROLLBACK');
      } catch {
        // SQLite has rolled back by itself, as it does when the disk is full.
      }
      throw error;
    }
  }

  /** Undefined if it was begun at once. */
  #begin(): Promise<undefined> | undefined {
    return this.#unlessBusy(() => {
      const begin = this.#prepare('BEGIN IMMEDIATE');
      this.#checkPlaces();
      begin.get();
      const [place, ...beside] = this.#places;
      if (place !== undefined && beside.length === 0) this.#findBeside(place);
      return undefined;
    });
  }

  /** Somebody has put another file there, or none: what is written now, nobody else would ever see. */
  #checkPlaces(): void {
    const { path } = this.#options;
    const index = this.#places.findIndex((place) => !isSamePlace(place));
    if (index >= 0) throw movedFile(path, index === 0 ? undefined : this.#places[index]?.path);
  }

  /** In a transaction: only then they are there for sure. */
  #findBeside(place: FilePlace): void {
    if (!this.#isLogged) return;
    try {
      this.#places = [place, ...placesBeside(place)];
      this.#checkPlaces();
    } catch (error) {
      this.#database?.exec('ROLLBACK');
      throw error;
    }
  }

  /** Tries again while another process writes, without keeping this one from its other work. */
  #unlessBusy<T>(work: () => T): Promise<T> | T {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || this.#options.busyTimeoutMs <= 0) throw error;
    }
    return this.#again(work);
  }

  async #again<T>(work: () => T): Promise<T> {
    const giveUpAt = performance.now() + this.#options.busyTimeoutMs;
    for (;;) {
      await delay(1 + Math.random() * 10);
      try {
        return work();
      } catch (error) {
        if (!isBusy(error) || performance.now() >= giveUpAt) throw error;
      }
    }
  }

  /** After most failures the file is opened anew by the next call: what was wrong with it may have been put right. */
  #failure(error: unknown): CountersignError {
    if (opensAnew(error) && this.#options.path !== ':memory:') {
      const database = this.#database;
      this.#database = undefined;
      this.#migrated = undefined;
      try {
        database?.close();
      } catch {
        // The file is given up in any case.
      }
    }
    return sqliteFailure(error, this.#options.path);
  }
}

/** The values of a row that was to be an array, in the order of the columns: an older Node makes an object. */
export function valuesOf<Values extends readonly unknown[]>(row: unknown): Values {
  return (Array.isArray(row) ? row : Object.values(row as object)) as unknown as Values;
}

function closedError(path: string): ProviderError {
  return new ProviderError('store-failed', { path }, `The store ${path} was closed; make another.`, {
    retryable: false,
  });
}
