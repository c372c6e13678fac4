// The pool that the Postgres store makes for an address.
import type { Pool, PoolClient } from 'pg';
import { messageOf, ProviderError } from '../../core/errors.ts';
import { endsConnection } from './failure.ts';
import {
  type Asked,
  closedError,
  hearLosses,
  ignore,
  ownPools,
  type PostgresClient,
  type PostgresPool,
  type PostgresResult,
  WITHOUT_LIMIT,
} from './pool.ts';
import { Execution, type TypeParsers } from './query.ts';

export type OwnPool = {
  readonly pool: PostgresPool;
  readonly close: () => Promise<void>;
  /** Waits for no answer any more: whoever asked is told, and nothing keeps the process alive. */
  readonly giveUp: () => void;
};

/** A pool of `pg`, which is loaded only now. The connection that listens is beside it, not one of it. */
export async function connectTo(url: string, max: number): Promise<OwnPool> {
  const { Pool, Client, Query } = await loadPg();
  const options = { connectionString: url, connectionTimeoutMillis: CONNECT_MS, keepAlive: true };
  const pool = new Pool({ ...options, max, allowExitOnIdle: true });
  hearLosses(pool);
  // The same for one that is about to be closed.
  pool.on('connect', (client) => client.on('error', ignore));
  const connections = new Connections(pool, Query as unknown as QueryClass);
  const own: PostgresPool = {
    query: (...given: [string | Asked, unknown[]?]) => connections.query(...given),
    connect: async () => {
      const client = new Client(options);
      client.on('error', ignore);
      await client.connect();
      return Object.assign(client, { release: () => void client.end().catch(ignore) }) as PostgresClient;
    },
  };
  ownPools.add(own);
  return { pool: own, close: () => connections.close(), giveUp: () => connections.giveUp() };
}

/** `pg` has these for its own pool and queries. */
type Connection = PoolClient & TypeParsers & { ref(): void; unref(): void };

type QueryClass = new (text: string, values: unknown[] | undefined, done: Done) => object;

type Done = (error: Error | null, result: PostgresResult) => void;

/** For how long a connection that is in use again and again is kept out of the pool. */
const AT_HAND_MS = 1_000;

/**
 * Keeps connections at hand for a moment: to give each back to the pool after every statement, and to take it out again,
 * costs as much as a small statement itself.
 */
class Connections {
  readonly #pool: Pool;
  readonly #Query: QueryClass;
  #atHand: Connection[] = [];
  #closing: Promise<void> | undefined;
  #underWay = 0;
  /** Called when nothing is under way any more, while closing. */
  #onIdle: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #patience = new Patience();

  constructor(pool: Pool, Query: QueryClass) {
    this.#pool = pool;
    this.#Query = Query;
    pool.on('connect', (client) => client.on('end', () => this.#lost(client as Connection)));
  }

  query(given: string | Asked, values?: unknown[]): Promise<PostgresResult> {
    if (this.#closing !== undefined) return Promise.reject(closedError());
    this.#underWay += 1;
    const client = this.#takeAtHand();
    if (client) return this.#send(client, given, values);
    return this.#pool.connect().then(
      (client) => this.#send(client as Connection, given, values),
      (error: unknown) => {
        this.#ended();
        throw error;
      },
    );
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** What is under way ends first: a pool that has ended forgets those that wait for a connection. */
  async #close(): Promise<void> {
    this.#giveBack();
    if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    await this.#pool.end();
  }

  giveUp(): void {
    this.#patience.giveUp();
  }

  #ended(): void {
    this.#underWay -= 1;
    if (this.#underWay === 0) this.#onIdle?.();
  }

  #send(client: Connection, given: string | Asked, values?: unknown[]): Promise<PostgresResult> {
    const limitMs = typeof given === 'string' ? WITHOUT_LIMIT : given.query_timeout;
    return new Promise((resolve, reject) => {
      let isDone = false;
      // `pg` may tell of one failure twice: by throwing, and to the query.
      const done: Done = (error, result) => {
        if (isDone) return;
        isDone = true;
        this.#patience.end(done);
        this.#ended();
        if (error) {
          client.release(endsConnection(error));
          reject(error);
        } else {
          this.#keep(client);
          resolve(result);
        }
      };
      if (limitMs > 0) this.#patience.begin(done, limitMs);
      try {
        client.query(this.#queryOf(client, given, values, done) as never);
      } catch (error) {
        done(error instanceof Error ? error : new Error(messageOf(error)), { rows: [] });
      }
    });
  }

  #queryOf(client: Connection, given: string | Asked, values: unknown[] | undefined, done: Done): object {
    if (typeof given === 'string') return new this.#Query(given, values, done);
    const { name, text } = given;
    if (name === undefined) return new this.#Query(text, given.values, done);
    return new Execution({ name, text }, given.values, client, done);
  }

  #takeAtHand(): Connection | undefined {
    const client = this.#atHand.pop();
    client?.ref();
    return client;
  }

  #keep(client: Connection): void {
    if (this.#closing !== undefined || this.#pool.waitingCount > 0) return client.release();
    // As in the pool: what is not in use keeps no process alive.
    client.unref();
    this.#atHand.push(client);
    this.#timer ??= setTimeout(() => this.#giveBack(), AT_HAND_MS).unref();
  }

  #giveBack(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const clients = this.#atHand;
    this.#atHand = [];
    for (const client of clients) client.release();
  }

  #lost(client: Connection): void {
    const index = this.#atHand.indexOf(client);
    if (index < 0) return;
    this.#atHand.splice(index, 1);
    client.release(true);
  }
}

/** How often it is looked whether an answer is late. */
const LOOK_MS = 1_000;

/**
 * How long answers are waited for, by the turns of one timer: `pg` sets one for each query, which costs as much as all the
 * rest of sending it. A process that stood still has not waited meanwhile.
 */
class Patience {
  readonly #lastTurns = new Map<Done, number>();
  #turn = 0;
  #timer: NodeJS.Timeout | undefined;

  /** The connection keeps the process alive while it waits. */
  begin(done: Done, limitMs: number): void {
    // The turn that comes next may come at once.
    this.#lastTurns.set(done, this.#turn + 1 + Math.ceil(limitMs / LOOK_MS));
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
  }

  end(done: Done): void {
    this.#lastTurns.delete(done);
  }

  giveUp(): void {
    const error = new Error('no answer came before the store was closed');
    for (const done of this.#lastTurns.keys()) done(error, { rows: [] });
  }

  #look(): void {
    this.#turn += 1;
    for (const [done, last] of this.#lastTurns) {
      if (this.#turn >= last) done(new Error('no answer came in time'), { rows: [] });
    }
    if (this.#lastTurns.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

const CONNECT_MS = 10_000;

async function loadPg(): Promise<Pick<typeof import('pg'), 'Pool' | 'Client' | 'Query'>> {
  try {
    return (await import('pg')).default;
  } catch (error) {
    // It may be there and not load, as in a bundle that has it inside.
    const message = `The Postgres store needs the package \`pg\` to connect to an address, and it cannot be loaded (${messageOf(error)}). Install it with npm install pg, and leave it out of bundles.`;
    throw new ProviderError('store-failed', {}, message, { cause: error, retryable: false });
  }
}
