// How the Postgres store talks to its database: the smallest pool that it accepts, and how it sends a query.
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ProviderError } from '../../core/errors.ts';
import { endsConnection, errorCode, isOfPrepared, isSerializationFailure } from './failure.ts';
import { warnOfCancelledSync } from './settings.ts';

/** What `query` resolves with. */
export type PostgresResult = { readonly rows: readonly any[] };

/**
 * The pool that the store needs: a `Pool` of `pg`, or any object that takes a text with `$1` and values.
 * With `connect`, as `pg` has it, statements are prepared once per connection, and changes made by other processes arrive
 * at once, on a connection that is held while someone watches. Without it, the store polls for changes.
 */
export type PostgresPool = {
  query(text: string, values: unknown[]): Promise<PostgresResult>;
  connect?(): Promise<PostgresClient>;
};

/** What a connection hears on a channel that it listens to. */
export type PostgresNotification = { readonly channel?: string | undefined; readonly payload?: string | undefined };

/** One connection of a pool. */
export type PostgresClient = {
  query(text: string): Promise<PostgresResult>;
  on(event: 'notification', listener: (message: PostgresNotification) => void): unknown;
  on(event: 'error' | 'end', listener: () => void): unknown;
  release(destroy?: boolean): void;
  /** Lets the process exit while the connection is open. */
  unref?(): void;
};

/** A statement that is prepared once per connection and run many times. */
export type Statement = { readonly name: string; readonly text: string };

/** Derives the name from the text: on one connection, a name must always mean the same text. */
export function statement(text: string): Statement {
  const trimmed = text.replaceAll(/\s+/g, ' ').trim();
  return { name: `countersign_${createHash('sha256').update(trimmed).digest('hex').slice(0, 24)}`, text: trimmed };
}

/** Pools behind a pooler that gives each statement another connection, so that nothing stays prepared. */
const unprepared = new WeakSet<PostgresPool>();

/** Runs a statement, as a prepared one if the pool is one of `pg`. */
export function run(pool: PostgresPool, { name, text }: Statement, values: unknown[]): Promise<PostgresResult> {
  if (pool.connect === undefined || unprepared.has(pool)) return ask(pool, text, values, ANSWER_MS);
  return askOnConnection(pool, { name, text, values }, ANSWER_MS).catch((error: unknown) => {
    if (!isOfPrepared(error)) throw error;
    // Another client has prepared it on a connection that should have been ours alone.
    if (errorCode(error) === '42P05') unprepared.add(pool);
    return ask(pool, text, values, ANSWER_MS);
  });
}

/**
 * How long to wait for an answer. A network can lose a connection silently, as when the server's machine dies. After a
 * timeout it is unknown whether the statement ran.
 */
const ANSWER_MS = 20_000;
/** The same for queries that may have to scan a table. */
const LONG_ANSWER_MS = 120_000;
export const WITHOUT_LIMIT = 0;

/** Runs a text once. */
export function ask(
  pool: PostgresPool,
  text: string,
  values: unknown[],
  answerMs = LONG_ANSWER_MS,
): Promise<PostgresResult> {
  return pool.connect === undefined ? pool.query(text, values) : askOnConnection(pool, { text, values }, answerMs);
}

type Query = { readonly name?: string; readonly text: string; readonly values: unknown[] };

/** The part of a `Pool` of `pg` and its clients that is used beside `PostgresPool`. */
type PgPool = { readonly options?: { readonly query_timeout?: number }; connect(): Promise<PgClient> };
type PgClient = {
  query(query: Query & { readonly query_timeout: number }): Promise<PostgresResult>;
  /** `T` in a transaction, `E` in a failed one. Older versions of `pg` do not have it. */
  getTransactionStatus?(): string | null;
  on(event: 'error', listener: () => void): unknown;
  off(event: 'error', listener: () => void): unknown;
  release(destroy?: boolean): void;
};

const FAILED_TRANSACTION = '25P02';

/**
 * Other users of the pool may have returned a connection with an open transaction. Anything written there would be
 * acknowledged and then rolled back with it, so such a connection is closed and another one used.
 */
async function askOnConnection(given: PostgresPool, query: Query, answerMs: number): Promise<PostgresResult> {
  const pool = given as unknown as PgPool;
  const asked = { ...query, query_timeout: pool.options?.query_timeout || answerMs };
  for (;;) {
    const client = await pool.connect();
    if (isInTransaction(client)) {
      client.release(true);
      continue;
    }
    // A lost connection also rejects the query.
    client.on('error', ignore);
    try {
      const result = await client.query(asked);
      client.off('error', ignore);
      const isRolledBack = isInTransaction(client);
      client.release(isRolledBack);
      if (!isRolledBack) return result;
    } catch (error) {
      client.off('error', ignore);
      client.release(endsConnection(error));
      // The connection came back before the server had reported its state. A failed transaction does nothing.
      if (errorCode(error) !== FAILED_TRANSACTION) throw error;
      continue;
    }
    // The other user may have sent COMMIT as well, so it is unknown whether the statement counts.
    throw new Error(RETURNED_EARLY);
  }
}

const RETURNED_EARLY =
  'a connection of the pool was released before its BEGIN was answered, and was closed. Await every query on a connection before you release it';

function isInTransaction(client: PgClient): boolean {
  const status = client.getTransactionStatus?.();
  return status === 'T' || status === 'E';
}

const MOST_RETRIES = 20;
const LONGEST_PAUSE_MS = 100;

/** Retries statements that lost against others at a stricter isolation level: they have done nothing. */
export async function retrySerialization<T>(send: () => Promise<T>): Promise<T> {
  for (let sent = 1; ; sent += 1) {
    try {
      return await send();
    } catch (error) {
      if (sent === MOST_RETRIES || !isSerializationFailure(error)) throw error;
      await delay(Math.random() * Math.min(LONGEST_PAUSE_MS, 2 ** sent));
    }
  }
}

/**
 * A pool of `pg` emits an error when an idle connection is lost, which ends the process unless it has a listener. The next
 * query gets another connection, or fails and says so.
 */
export function ignoreLostConnections(pool: PostgresPool): void {
  if (listened.has(pool)) return;
  listened.add(pool);
  const { on } = pool as { readonly on?: unknown };
  if (typeof on !== 'function') return;
  on.call(pool, 'error', ignore);
  on.call(pool, 'connect', warnOfCancelledSync);
}

const listened = new WeakSet<PostgresPool>();

export function ignore(): void {}

export function closedError(): ProviderError {
  return new ProviderError('store-failed', {}, 'The store was closed; open another.', { retryable: false });
}
