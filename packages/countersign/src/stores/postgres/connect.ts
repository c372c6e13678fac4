// The pool that the Postgres store opens for an address.
import type { Client } from 'pg';
import { messageOf, ProviderError } from '../../core/errors.ts';
import { ignore, ignoreLostConnections, type PostgresClient, type PostgresPool } from './pool.ts';

export type OwnPool = {
  readonly pool: PostgresPool;
  /** Opens a connection beside the pool, for LISTEN. */
  readonly connectListener: () => Promise<PostgresClient>;
  /** Closes all connections. Nothing may be in progress. */
  readonly close: () => Promise<void>;
  /** Drops all connections at once: pending queries fail, and the process can exit. */
  readonly abandon: () => void;
};

const CONNECT_MS = 10_000;

/** Loads `pg` only when an address is used. */
export async function connectTo(url: string, max: number): Promise<OwnPool> {
  const { Pool, Client } = await loadPg();
  const options = { connectionString: url, connectionTimeoutMillis: CONNECT_MS, keepAlive: true };
  const pool = new Pool({ ...options, max, allowExitOnIdle: true });
  ignoreLostConnections(pool);
  const clients = new Set<Pick<Client, 'end'>>();
  pool.on('connect', (client) => {
    clients.add(client as unknown as Client);
    client.on('error', ignore);
  });
  pool.on('remove', (client) => clients.delete(client as unknown as Client));
  return {
    pool,
    connectListener: async () => {
      const client = new Client(options);
      client.on('error', ignore);
      await client.connect();
      return Object.assign(client, { release: () => void client.end().catch(ignore) }) as PostgresClient;
    },
    close: () => pool.end(),
    abandon: () => {
      for (const client of clients) void client.end().catch(ignore);
    },
  };
}

async function loadPg(): Promise<Pick<typeof import('pg'), 'Pool' | 'Client'>> {
  try {
    return (await import('pg')).default;
  } catch (error) {
    // It may be installed but fail to load, as in a bundle that inlined it.
    const message = `The Postgres store needs the package \`pg\` to connect to an address, and loading it failed (${messageOf(error)}). Install it with npm install pg, and exclude it from bundles.`;
    throw new ProviderError('store-failed', {}, message, { cause: error, retryable: false });
  }
}
