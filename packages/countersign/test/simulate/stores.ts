// Where the runs of a schedule live: in memory, in a file of SQLite whose computer may lose power, or in PostgreSQL.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '../../src/runs/port/store.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite.ts';
import { Chance } from '../../src/testing/simulate/chance.ts';
import { frozenStore } from '../../src/testing/simulate/frozen.ts';
import type { Timeline } from '../../src/testing/simulate/timeline.ts';
import { postgresIn } from './postgres.ts';
import { tornStore } from './torn.ts';

/** `postgres`: on the server whose address the environment variable `COUNTERSIGN_SIMULATION_POSTGRES` has. */
export type Place = 'memory' | 'sqlite' | 'postgres';
export type MakeStore = (now: () => number, hold: Timeline['hold']) => Store;

/** How often a write is interrupted by a failure of the power, in a third of the schedules. */
const POWER_FAILS = 0.03;

export function storesOf(place: Place, seed = 0): MakeStore {
  if (place === 'memory') return frozenStore;
  if (place === 'postgres')
    return (now, hold) => postgresIn(String(process.env.COUNTERSIGN_SIMULATION_POSTGRES), now, hold);
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
