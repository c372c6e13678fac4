// Processes stopped cleanly one after the other under load: no call is in doubt, and no run waits for a lease.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { campaignSize } from '../campaign-size.ts';
import { decisionOn, Ledger, type Line, openBank, openStore, type Place } from '../crash/bank.ts';
import type { Ack, BusyOptions } from '../crash/busy-child.ts';
import { inspect } from '../crash/campaign-check.ts';
import { startChild } from '../crash/children.ts';
import { testServer } from '../stores/postgres-server.ts';

const RESTARTS = campaignSize(8, 48);
const AT_ONCE = 3;
/** Longer than the test: a run that is not released stays claimed, and the test fails. */
const LEASE_MS = 600_000;

const postgres = await testServer();
const folder = mkdtempSync(join(tmpdir(), 'countersign-rolling-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function restartUnderLoad(name: string, place: Place): Promise<void> {
  const files = { ledger: join(folder, `${name}-happened`), acks: join(folder, `${name}-acknowledged`) };
  let left = RESTARTS;
  const lane = async () => {
    while (left-- > 0) {
      const options: BusyOptions = { place, ...files, seed: left, leaseMs: LEASE_MS, runs: 12 };
      const child = startChild('busy-child.ts', options);
      if ((await child.line()) !== undefined) await delay(50 + (left % 15) * 16);
      child.kill('SIGTERM');
      const { code, errors } = await child.ended;
      expect({ code, errors }).toEqual({ code: 0, errors: '' });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));

  const store = openStore(place);
  try {
    const ledger = new Ledger<Line>(files.ledger);
    const { runs } = openBank({ store, ledger, leaseMs: LEASE_MS });
    const worker = runs.work({ concurrency: 32, pollMs: 20 });
    const isOpen = async () =>
      (await runs.list({ status: 'running', limit: 1 })).items.length > 0 ||
      (await runs.list({ status: 'waiting', limit: 1 })).items.length > 0;
    for (const limit = performance.now() + 120_000; (await isOpen()) && performance.now() < limit; await delay(10))
      for (const card of (await runs.requests({ limit: 100 })).items)
        if (card.kind !== 'doubt' && card.kind !== 'recall')
          await runs.decide(card.id, decisionOn(card), { by: 'auditor' });
    await worker.stop();
    const waiting = await runs.requests({ kind: 'doubt' });
    const settled = await runs.requests({ kind: 'doubt', settled: true });
    expect([...waiting.items, ...settled.items].map(({ id }) => id)).toEqual([]);
    const { problems, ...figures } = await inspect(store, runs, ledger.read(), new Ledger<Ack>(files.acks).read());
    console.log(`${name}: ${JSON.stringify(figures)}`);
    expect(problems).toEqual([]);
    // Otherwise the processes had no work when they were stopped. A slow computer starts one run or none before each stop.
    expect(figures.runs).toBeGreaterThanOrEqual(RESTARTS / 2);
  } finally {
    await store.close();
  }
}

test(
  'restarts on SQLite leave no doubt',
  () => restartUnderLoad('SQLite', { sqlite: join(folder, 'runs.db') }),
  300_000,
);

test.runIf(postgres)(
  'restarts on PostgreSQL leave no doubt',
  async () => restartUnderLoad('PostgreSQL', { postgres: (await postgres?.freshDatabase()) ?? '' }),
  300_000,
);
