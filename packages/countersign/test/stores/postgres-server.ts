// A PostgreSQL server for the tests of one file, with a fresh, empty schema for each that asks.
import pg from 'pg';
import { afterAll } from 'vitest';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { type PostgresServer, startPostgres } from '../../../../scripts/postgres.mjs';

export type TestServer = {
  readonly server: PostgresServer;
  /** An address with a place for tables that nobody else has. */
  readonly freshDatabase: () => Promise<string>;
};

/**
 * Undefined, with the reason printed, when this computer has no PostgreSQL and cannot get it. In CI that is an error:
 * there no test may be left out unnoticed.
 */
export async function testServer(): Promise<TestServer | undefined> {
  let server: PostgresServer;
  try {
    server = await startPostgres();
  } catch (error) {
    if (process.env.CI) throw error;
    console.warn(`\nTHE TESTS ON POSTGRESQL ARE LEFT OUT: ${error instanceof Error ? error.message : error}\n`);
    return undefined;
  }
  // A busy computer takes its time to stop it.
  afterAll(() => server.stop(), 60_000);
  let made = 0;
  return {
    server,
    freshDatabase: async () => {
      const name = `test_${++made}`;
      await onServer(server.url(), `CREATE SCHEMA ${name}`);
      return `${server.url()}?options=${encodeURIComponent(`-c search_path=${name}`)}`;
    },
  };
}

/** The address of a fresh database, for connections that begin with this setting. */
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

/** Runs one text on a connection of its own. */
export async function onServer(url: string, text: string, values: unknown[] = []): Promise<readonly any[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}
