// Where the runs of a schedule live: in memory, in a database of SQLite in memory, or in a file of SQLite.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '../../src/runs/port/store.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite.ts';
import { frozenStore } from '../../src/testing/simulate/frozen.ts';

export type Place = 'memory' | 'sqlite';
export type MakeStore = (now: () => number) => Store;

export function storesOf(place: Place): MakeStore {
  if (place === 'memory') return frozenStore;
  return (now) => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-simulation-'));
    const store = sqliteStore({ path: join(folder, 'runs.db'), now });
    return {
      ...store,
      async close() {
        await store.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  };
}
