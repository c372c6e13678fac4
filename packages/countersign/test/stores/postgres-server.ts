// PostgreSQL for the tests of one file, with a fresh, empty schema for each test that asks.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll } from 'vitest';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { type PostgresServer, startPostgres } from '../../../../scripts/postgres.mjs';

export type TestServer = {
  readonly server: PostgresServer;
  /** The address of an empty schema. */
  readonly freshDatabase: () => Promise<string>;
};

/**
 * Returns the PostgreSQL that all test files share, in a database for this file. `own: true` starts a server for this
 * file alone, which it may crash, restart or reconfigure. Outside CI, a machine without PostgreSQL skips these tests with a
 * printed reason.
 */
export async function testServer({ own = false } = {}): Promise<TestServer | undefined> {
  const port = own ? undefined : process.env.COUNTERSIGN_TEST_POSTGRES;
  try {
    return port === undefined ? await ownServer() : await sharedServer(port);
  } catch (error) {
    if (process.env.CI) throw error;
    console.warn(`\nSKIPPING THE POSTGRESQL TESTS: ${error instanceof Error ? error.message : error}\n`);
    return undefined;
  }
}

async function ownServer(): Promise<TestServer> {
  const server = await startPostgres();
  afterAll(() => server.stop(), 60_000);
  return { server, freshDatabase: freshSchemas(server.url()) };
}

async function sharedServer(port: string): Promise<TestServer> {
  const url = (database: string) => `postgres://postgres@127.0.0.1:${port}/${database}`;
  const mine = `file_${randomBytes(6).toString('hex')}`;
  await onServer(url('postgres'), `CREATE DATABASE ${mine}`);
  const refuse = (): Promise<never> =>
    Promise.reject(new Error('This server is shared. Use testServer({ own: true }).'));
  const server: PostgresServer = {
    port: Number(port),
    url: (database = mine) => url(database),
    crash: refuse,
    start: refuse,
    stop: refuse,
  };
  return { server, freshDatabase: freshSchemas(url(mine)) };
}

function freshSchemas(url: string): () => Promise<string> {
  let made = 0;
  return async () => {
    const name = `test_${++made}`;
    await onServer(url, `CREATE SCHEMA ${name}`);
    return `${url}?options=${encodeURIComponent(`-c search_path=${name}`)}`;
  };
}

/** The address of a fresh database whose connections start with this setting. */
export function withSetting(url: string, name: string, value: string): string {
  return url.replace('options=', `options=${encodeURIComponent(`-c ${name}=${value.replaceAll(' ', '\\ ')} `)}`);
}

/** A pool that survives the end of the server. */
export function poolOn(url: string, max = 4): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** Runs one statement on a new connection. */
export async function onServer(url: string, text: string, values: unknown[] = []): Promise<readonly any[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}
