// The stores that the crash tests run on, each fresh and empty.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore, type Store } from 'countersign';
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import type { StoreUnderTest } from 'countersign/testing';

export async function onMemory(): Promise<StoreUnderTest> {
  const { now, advance } = clock();
  return { store: memoryStore({ now }), advance, close: async () => undefined };
}

/** A file of its own; each process opens it anew. */
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

/** The clock is that of the server; claims have to lapse by themselves. */
export async function onPostgres(url: string): Promise<StoreUnderTest> {
  const open = (): Store => postgresStore({ url, poolMax: 4 });
  const store = open();
  return { store, another: async () => open(), close: () => store.close() };
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
