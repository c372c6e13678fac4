// Where the runs of a schedule live: in memory, or in a file of SQLite whose computer may lose power.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '../../src/runs/port/store.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite.ts';
import { Chance } from '../../src/testing/simulate/chance.ts';
import { frozenStore } from '../../src/testing/simulate/frozen.ts';
import { tornStore } from './torn.ts';

export type Place = 'memory' | 'sqlite';
export type MakeStore = (now: () => number) => Store;

/** How often a write is interrupted by a failure of the power, in a third of the schedules. */
const POWER_FAILS = 0.03;

export function storesOf(place: Place, seed = 0): MakeStore {
  if (place === 'memory') return frozenStore;
  return (now) => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-simulation-'));
    const chance = new Chance(seed ^ 0x2c1b3c6d);
    const often = chance.is(0.33) ? POWER_FAILS : 0;
    const store = tornStore({ folder, chance, fails: () => often, open: (path) => sqliteStore({ path, now }) });
    return {
      ...store,
      async close() {
        await store.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  };
}
