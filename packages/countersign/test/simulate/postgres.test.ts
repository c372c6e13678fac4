// Schedules on a real PostgreSQL, over real connections. `npm run simulate -- --store postgres` runs more.
import { expect, onTestFinished, test } from 'vitest';
import { testServer } from '../stores/postgres-server.ts';
import { startWorker } from './workers.ts';

const postgres = await testServer();

test.skipIf(!postgres)(
  'no schedule breaks a law on PostgreSQL, and the same seed gives the same schedule',
  { timeout: 120_000 },
  async () => {
    process.env.COUNTERSIGN_SIMULATION_POSTGRES = postgres?.server.url();
    const worker = startWorker();
    onTestFinished(() => worker.stop());
    const first = await worker.run({ from: 1, count: 2, place: 'postgres' });
    expect(first.found).toEqual([]);
    expect(first.figures.effects).toBeGreaterThan(0);
    const again = await worker.run({ from: 1, count: 1, place: 'postgres' });
    const alone = await worker.run({ from: 1, count: 1, place: 'postgres' });
    expect(again.hashes).toBe(alone.hashes);
  },
);
