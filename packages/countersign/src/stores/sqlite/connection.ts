// The connection to one SQLite file. Jobs that are queued at the same time share one transaction.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { CountersignError, ProviderError } from '../../core/errors.ts';
import { isBusy, isOfFile, mayBeRepaired, movedFile, sqliteFailure, twoNames } from './failure.ts';
import { createPrivate, type FilePlace, isSamePlace, otherNameOf, placesOf } from './file.ts';
import { openDatabase } from './node-sqlite.ts';
import { isMigratedSqlite, migrateSqlite } from './schema.ts';

export type SqliteOptions = { readonly path: string; readonly now: () => number; readonly busyTimeoutMs: number };

/** Work on the file. A job that writes checks first: if it throws a refusal, it has written nothing. */
export type Job<T> = (prepare: Prepare) => T;

/**
 * Compiles each text once. Statements that write use `get`, which costs less than `run`; `run` is for the number of a row
 * that was just added.
 */
export type Prepare = (text: string) => StatementSync;

type QueuedJob = {
  readonly job: Job<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
};

/** SQLite blocks the process this long for a lock; after that the store waits without blocking. */
const BLOCKING_WAIT_MS = 10;
/** How many jobs share a transaction at most, so that other processes get their turn. */
const GROUP = 64;

/** How many transactions may follow each other before the event loop gets its turn. */
const IN_A_ROW = 32;

export class SqliteConnection {
  readonly #options: SqliteOptions;
  #database: DatabaseSync | undefined;
  /** The open file, its log and its locks; empty for a database in memory. */
  #places: readonly FilePlace[] = [];
  #statements = new Map<string, StatementSync>();
  /** The connection with an open transaction. SQLite's own answer is not in Node before 22.16. */
  #inTransaction: DatabaseSync | undefined;
  #migrated: Promise<void> | undefined;
  /** The connection whose tables are up to date. */
  #upToDate: DatabaseSync | undefined;
  #queue: QueuedJob[] = [];
  #draining: Promise<void> | undefined;
  #comeAlone = true;
  /** How many of the queued jobs must run alone, because their group failed. */
  #alone = 0;
  #inARow = 0;
  #closed = false;

  constructor(options: SqliteOptions) {
    this.#options = options;
  }

  /** A file that was restored has another inode. Undefined for a database in memory. */
  async identity(): Promise<string | undefined> {
    await this.migrate();
    return this.#places[0]?.inode.toString();
  }

  /** Opens the file and migrates its tables, once. After a failure, the next call tries again. */
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

  /** Reads with several statements that see the file at the same moment. */
  readAtOnce<T>(job: Job<T>): Promise<T> {
    return this.read((prepare) => {
      // A write that waits for its turn may have begun one.
      if (this.#open() === this.#inTransaction) return job(prepare);
      prepare('BEGIN').get();
      try {
        return job(prepare);
      } finally {
        prepare('COMMIT').get();
      }
    });
  }

  /** Runs the job in a transaction, together with others that are queued. Resolves once it is durable. */
  write<T>(job: Job<T>): Promise<T> {
    return this.#isMigrated ? this.#enqueue(job) : this.migrate().then(() => this.#enqueue(job));
  }

  /** Reads at once, without waiting; undefined if the file is busy or missing. */
  peek<T>(job: Job<T>): T | undefined {
    try {
      this.#open();
      return job(this.#prepare);
    } catch {
      // The caller peeks again later, and a real failure reaches those who read or write.
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

  readonly #prepare: Prepare = (text) => {
    const database = this.#open();
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = database.prepare(text);
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
    createPrivate(path);
    const database = openDatabase(path);
    try {
      database.exec(`PRAGMA busy_timeout = ${BLOCKING_WAIT_MS}`);
      if (database.prepare('PRAGMA journal_mode').get()?.journal_mode !== 'wal')
        database.prepare('PRAGMA journal_mode = WAL').get();
      database.exec('PRAGMA synchronous = FULL');
    } catch (error) {
      database.close();
      throw error;
    }
    this.#statements = new Map();
    this.#places = [];
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
    // A connection that has read the tables has created the log and the locks, unless the disk does not support them.
    this.#places = placesOf(path);
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
   * Waits a moment for other writes, which join the same transaction: a tick while jobs come alone, otherwise a turn of the
   * event loop.
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

  /** Synchronous unless another process writes. */
  async #drain(): Promise<void> {
    let jobs: readonly QueuedJob[] = [];
    const waiting = this.#queue.length;
    try {
      const begun = this.#begin();
      if (begun !== undefined) await begun;
      jobs = this.#queue.splice(0, this.#alone > 0 ? 1 : GROUP);
      this.#alone = Math.max(0, this.#alone - 1);
      this.#comeAlone = jobs.length === 1;
      this.#writeTogether(jobs);
    } catch (error) {
      if (jobs.length > 1 && !isOfFile(error)) {
        // One job's mistake must not fail the others.
        this.#queue.unshift(...jobs);
        this.#alone = jobs.length;
      } else {
        // All jobs that were queued have waited for the same lock.
        const failed = jobs.length > 0 ? jobs : this.#queue.splice(0, waiting);
        const failure = this.#failure(error);
        for (const { reject } of failed) reject(failure);
      }
    }
    this.#draining = this.#queue.length > 0 ? this.#drainSoon() : undefined;
  }

  /** Runs in the open transaction. If a job throws anything but a refusal, none of them has happened. */
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
        // SQLite has already rolled back, as it does when the disk is full.
      }
      throw error;
    } finally {
      this.#inTransaction = undefined;
    }
  }

  /** Undefined if the transaction began at once. */
  #begin(): Promise<undefined> | undefined {
    return this.#unlessBusy(() => {
      const begin = this.#prepare('BEGIN IMMEDIATE');
      this.#checkPlaces();
      begin.get();
      this.#inTransaction = this.#database;
      return undefined;
    });
  }

  /** Throws if the file was replaced or deleted: no other process would see later writes. */
  #checkPlaces(): void {
    const moved = this.#places.find((place) => !isSamePlace(place));
    if (moved !== undefined) throw movedFile(this.#options.path, moved.path);
  }

  /** Retries while another process writes, without blocking this one. */
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

  /** After most failures the next call opens the file again, in case it was repaired. */
  #failure(error: unknown): CountersignError {
    if (mayBeRepaired(error) && this.#options.path !== ':memory:') {
      const database = this.#database;
      this.#database = undefined;
      this.#migrated = undefined;
      try {
        database?.close();
      } catch {
        // The connection is dropped in any case.
      }
    }
    return sqliteFailure(error, this.#options.path);
  }
}

function closedError(path: string): ProviderError {
  return new ProviderError('store-failed', { path }, `The store ${path} was closed; open another.`, {
    retryable: false,
  });
}
