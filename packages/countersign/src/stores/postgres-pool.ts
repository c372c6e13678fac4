// How the Postgres store reaches its database: the least it needs of a pool, and the pool it makes for an address.
import { createHash } from 'node:crypto';
import { ProviderError } from '../core/errors.ts';

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

/** A statement that is used again and again. */
export type Statement = { readonly name: string; readonly text: string };

/** The name comes from the text: on one connection no two texts may have the same. */
export function statement(text: string): Statement {
  const trimmed = text.replaceAll(/\s+/g, ' ').trim();
  return { name: `countersign_${createHash('sha256').update(trimmed).digest('hex').slice(0, 24)}`, text: trimmed };
}

/** Runs a statement, as a prepared one if the pool is one of `pg`. */
export function run(pool: PostgresPool, { name, text }: Statement, values: unknown[]): Promise<PostgresResult> {
  if (pool.connect === undefined) return pool.query(text, values);
  return (pool as unknown as PreparingPool).query({ name, text, values });
}

type PreparingPool = {
  query(config: { readonly name: string; readonly text: string; readonly values: unknown[] }): Promise<PostgresResult>;
};

export type OwnPool = { readonly pool: PostgresPool; readonly close: () => Promise<void> };

/** A pool of `pg`, which is loaded only now. The connection that listens is beside it, not one of it. */
export async function connectTo(url: string, max: number): Promise<OwnPool> {
  const { Pool, Client } = await loadPg();
  const options = { connectionString: url, connectionTimeoutMillis: CONNECT_MS, keepAlive: true };
  const pool = new Pool({ ...options, max, allowExitOnIdle: true });
  // A connection was lost that is idle, or about to be closed. The next query gets another one, or fails and says so.
  pool.on('error', ignore);
  pool.on('connect', (client) => client.on('error', ignore));
  return {
    pool: {
      query: (...given: [string, unknown[]]) => pool.query(...given),
      connect: async () => {
        const client = new Client(options);
        client.on('error', ignore);
        await client.connect();
        return Object.assign(client, { release: () => void client.end().catch(ignore) }) as PostgresClient;
      },
    },
    close: () => pool.end(),
  };
}

const CONNECT_MS = 10_000;

function ignore(): void {}

async function loadPg(): Promise<Pick<typeof import('pg'), 'Pool' | 'Client'>> {
  try {
    return (await import('pg')).default;
  } catch (error) {
    const message = 'The Postgres store needs the package `pg` to connect to an address: npm install pg.';
    throw new ProviderError('store-failed', {}, message, { cause: error, retryable: false });
  }
}
