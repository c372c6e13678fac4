// How the Postgres store asks its database: the least it needs of a pool, and what it does with one.
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ProviderError, UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { refuseUnknownKeys } from '../../core/known-keys.ts';
import { endsConnection, errorCode, isOfPrepared, isSerializationFailure } from './failure.ts';
import { hearGivenUp } from './settings.ts';

/** What `query` resolves with. */
export type PostgresResult = { readonly rows: readonly any[] };

/**
 * What a pool must be able to do: a `Pool` of `pg`, or anything that takes a text with `$1` and values.
 * With `connect`, as `pg` has it, statements are prepared once for each connection and changes that other processes
 * make are heard at once, on a connection of the pool that is kept while somebody watches; without, they are looked for
 * now and then.
 */
export type PostgresPool = {
  query(text: string, values: unknown[]): Promise<PostgresResult>;
  connect?(): Promise<PostgresClient>;
};

/** One connection of a pool. */
export type PostgresClient = {
  query(text: string): Promise<PostgresResult>;
  on(event: 'notification', listener: (message: { readonly payload?: string | undefined }) => void): unknown;
  on(event: 'error' | 'end', listener: () => void): unknown;
  release(destroy?: boolean): void;
  /** Lets the process end although the connection is open. */
  unref?(): void;
};

/** Over the network, or by a socket of this computer. */
const ADDRESS = /^(postgres(ql)?:|socket:|\/)/;

/** What `postgresStore` was given, whoever wrote it. One that is misspelt would be another place than was meant. */
export function checkOptions(options: object): void {
  refuseUnknownKeys('postgresStore', options, ['url', 'poolMax', 'pool', 'schema']);
  const { schema, pool, url, poolMax } = options as { readonly [name: string]: unknown };
  if (schema !== undefined) checkSchema(schema);
  if (!('pool' in options)) return checkAddress(url, poolMax);
  checkPool(pool);
  // They may be two databases, or two sizes, and one of them would count for nothing.
  const [field] = Object.entries({ url, poolMax }).find(([, given]) => given !== undefined) ?? [];
  if (field === undefined) return;
  const message = `postgresStore was given both \`pool\` and \`${field}\`; leave one of them out. A pool knows its address and its size.`;
  throw new UsageError('invalid-options', { field }, message);
}

/** PostgreSQL cuts off what is longer, and two long names may begin alike. */
const LONGEST_NAME_BYTES = 63;

function checkSchema(schema: unknown): void {
  const isName = typeof schema === 'string' && schema !== '' && !schema.includes('\0');
  if (isName && Buffer.byteLength(schema) <= LONGEST_NAME_BYTES) return;
  const message = `\`schema\` of postgresStore is a name of 1 to ${LONGEST_NAME_BYTES} bytes, not ${JSON.stringify(schema)}.`;
  throw new UsageError('invalid-options', { field: 'schema' }, message);
}

function checkAddress(url: unknown, poolMax: unknown = 1): void {
  if (typeof url !== 'string' || !ADDRESS.test(url)) throw noAddress(url);
  if (Number.isSafeInteger(poolMax) && Number(poolMax) >= 1) return;
  const message = `\`poolMax\` of postgresStore is a whole number of connections, at least 1, not ${poolMax}.`;
  throw new UsageError('invalid-options', { field: 'poolMax' }, message);
}

function checkPool(pool: unknown): void {
  if (isObject(pool) && typeof pool.query === 'function') return;
  const message =
    '`pool` of postgresStore is a Pool of `pg`, or anything with `query(text, values)`; it got something else.';
  throw new UsageError('invalid-options', { field: 'pool' }, message);
}

export function noAddress(given: unknown): UsageError {
  const said = typeof given === 'string' && given !== '' ? 'something else' : 'nothing';
  const message = `postgresStore needs an address like postgres://user:password@host:5432/database, or a pool; it got ${said}.`;
  return new UsageError('invalid-options', { field: 'url' }, message);
}

/** A statement that is used again and again. */
export type Statement = { readonly name: string; readonly text: string };

/** The name comes from the text: on one connection no two texts may have the same. */
export function statement(text: string): Statement {
  const trimmed = text.replaceAll(/\s+/g, ' ').trim();
  return { name: `countersign_${createHash('sha256').update(trimmed).digest('hex').slice(0, 24)}`, text: trimmed };
}

/** Pools behind which nothing stays prepared: a pooler gives each statement another connection. */
const unprepared = new WeakSet<PostgresPool>();

/** Runs a statement, as a prepared one if the pool is one of `pg`. One that cannot be used has done nothing. */
export function run(pool: PostgresPool, { name, text }: Statement, values: unknown[]): Promise<PostgresResult> {
  if (pool.connect === undefined || unprepared.has(pool)) return ask(pool, text, values, ANSWER_MS);
  return asking(pool, { name, text, values }, ANSWER_MS).catch((error: unknown) => {
    if (!isOfPrepared(error)) throw error;
    // Somebody else has prepared it, on what was to be a connection of our own.
    if (errorCode(error) === '42P05') unprepared.add(pool);
    return ask(pool, text, values, ANSWER_MS);
  });
}

/**
 * How long an answer is waited for. A network may lose a connection without a word, as when the server's computer dies: then
 * nothing would be told for a quarter of an hour, or ever. Whether it was done, nobody knows.
 */
const ANSWER_MS = 20_000;
/** The same for what may have to look through everything. */
const LONG_ANSWER_MS = 120_000;
export const WITHOUT_LIMIT = 0;

/** Runs a text once. */
export function ask(
  pool: PostgresPool,
  text: string,
  values: unknown[],
  answerMs = LONG_ANSWER_MS,
): Promise<PostgresResult> {
  return pool.connect === undefined ? pool.query(text, values) : asking(pool, { text, values }, answerMs);
}

/** With the limit that `pg` keeps, unless its pool has one of its own: then it gives the connection up. */
function asking(pool: PostgresPool, asked: Omit<Asked, 'query_timeout'>, answerMs: number): Promise<PostgresResult> {
  if (ownPools.has(pool)) return (pool as unknown as AskedPool).query({ ...asked, query_timeout: answerMs });
  const shared = pool as unknown as SharedPool;
  return askShared(() => shared.connect(), { ...asked, query_timeout: shared.options?.query_timeout || answerMs });
}

/** Those that nobody else uses. */
export const ownPools = new WeakSet<PostgresPool>();

const FAILED_TRANSACTION = '25P02';

/**
 * Others may have given a connection back in the middle of a transaction. What is written in it would be told as durable,
 * and be taken back with it: such a connection is closed, and another one taken.
 */
async function askShared(connect: () => Promise<SharedClient>, asked: Asked): Promise<PostgresResult> {
  for (;;) {
    const client = await connect();
    if (isInTransaction(client)) {
      client.release(true);
      continue;
    }
    // The query is told of it, too.
    client.on('error', ignore);
    try {
      const result = await client.query(asked);
      client.off('error', ignore);
      const isTakenBack = isInTransaction(client);
      client.release(isTakenBack);
      if (!isTakenBack) return result;
    } catch (error) {
      client.off('error', ignore);
      client.release(endsConnection(error));
      // Given back before the server had said how it stands: nothing is done in a transaction that has failed.
      if (errorCode(error) !== FAILED_TRANSACTION) throw error;
      continue;
    }
    // Nor had it when this one was: whoever began may have sent its end as well, so nobody knows what was done.
    throw new Error(GIVEN_BACK_EARLY);
  }
}

const GIVEN_BACK_EARLY =
  'a connection of the pool was given back before its BEGIN was answered, and was closed. Await every query on it before you release it';

function isInTransaction(client: SharedClient): boolean {
  const status = client.getTransactionStatus?.();
  return status === 'T' || status === 'E';
}

/** How often a statement is sent that loses against others. They do not all come back at the same moment. */
const MOST_SENT = 20;
const LONGEST_PAUSE_MS = 100;

/**
 * At a stricter isolation level than the default, a statement that others are ahead of is refused. It has done nothing,
 * and sent again it sees what they did.
 */
export async function sentAgain<T>(send: () => Promise<T>): Promise<T> {
  for (let sent = 1; ; sent += 1) {
    try {
      return await send();
    } catch (error) {
      if (sent === MOST_SENT || !isSerializationFailure(error)) throw error;
      await delay(Math.random() * Math.min(LONGEST_PAUSE_MS, 2 ** sent));
    }
  }
}

export type Asked = {
  readonly name?: string;
  readonly text: string;
  readonly values: unknown[];
  readonly query_timeout: number;
};

type AskedPool = { query(asked: Asked): Promise<PostgresResult> };

/** What is used of a pool of `pg` and its clients beside what they are asked for. */
type SharedPool = {
  readonly options?: { readonly query_timeout?: number };
  connect(): Promise<SharedClient>;
};

type SharedClient = AskedPool & {
  /** `T` in a transaction, `E` in one that has failed. Not every version of `pg` tells. */
  getTransactionStatus?(): string | null;
  on(event: 'error', listener: () => void): unknown;
  off(event: 'error', listener: () => void): unknown;
  release(destroy?: boolean): void;
};

/**
 * A pool of `pg` tells of a connection that was lost while it was idle, and ends the process if nobody hears it. The next
 * query gets another connection, or fails and says so.
 */
export function hearLosses(pool: PostgresPool): void {
  if (heard.has(pool)) return;
  heard.add(pool);
  const { on } = pool as { readonly on?: unknown };
  if (typeof on !== 'function') return;
  on.call(pool, 'error', ignore);
  on.call(pool, 'connect', hearGivenUp);
}

const heard = new WeakSet<PostgresPool>();

export function ignore(): void {}

export function closedError(): ProviderError {
  return new ProviderError('store-failed', {}, 'The store was closed; make another.', { retryable: false });
}
