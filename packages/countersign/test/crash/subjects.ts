// The stores that the crash tests run on, each new and empty.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore } from 'countersign';
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import type { Store } from 'countersign/store';
import type { StoreUnderTest } from 'countersign/testing';
import { onServer } from '../stores/postgres-server.ts';

export async function onMemory(): Promise<StoreUnderTest> {
  const { now, advance } = clock();
  return { store: memoryStore({ now }), advance, close: async () => undefined };
}

/** A separate file. Each process opens it again. */
export async function onSqlite(): Promise<StoreUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-crash-'));
  const { now, advance } = clock();
  const open = () => sqliteStore({ path: join(folder, 'runs.db'), now });
  const store = open();
  return {
    store,
    advance,
    another: async () => open(),
    close: async () => {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Moves the server's clock forward, so that a test need not wait for a lease on a busy machine. */
export async function onPostgres(url: string): Promise<StoreUnderTest> {
  const [schema] = await onServer(url, 'SELECT current_schema() AS name');
  await onServer(
    url,
    `CREATE TABLE IF NOT EXISTS put_forward AS SELECT interval '0' AS by;
     CREATE OR REPLACE FUNCTION ${schema.name}.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE
     AS 'SELECT pg_catalog.statement_timestamp() + by FROM ${schema.name}.put_forward'`,
  );
  // With pg_catalog listed after the schema, PostgreSQL finds the schema's function first.
  const shifted = url.replace(encodeURIComponent(`=${schema.name}`), encodeURIComponent(`=${schema.name},pg_catalog`));
  const open = (): Store => postgresStore({ url: shifted, poolMax: 4 });
  const store = open();
  return {
    store,
    another: async () => open(),
    advance: async (ms) => {
      await onServer(url, "UPDATE put_forward SET by = by + $1 * interval '1 millisecond'", [ms]);
    },
    close: () => store.close(),
  };
}

function clock(): { now(): number; advance(ms: number): void } {
  let now = 1_800_000_000_000;
  return {
    now: () => now,
    advance: (ms) => {
      now += ms;
    },
  };
}
