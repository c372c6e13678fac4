// Processes that call through the gate, killed with SIGKILL at random moments: each approved call has one effect at most, with the
// approved input, and what cannot be known is asked.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { countersign, type RunRequest } from '../../src/index.ts';
import { campaignSize, isFullCampaign } from '../campaign-size.ts';
import { Ledger, openStore, type Place } from '../crash/bank.ts';
import { startChild } from '../crash/children.ts';
import { randomFrom } from '../random.ts';
import { testServer } from '../stores/postgres-server.ts';
import { type Effect, inputOf, LEASE_MS } from './calling-child.ts';

const KILLS = campaignSize(12, 300);
const KEYS = campaignSize(30, 600);
const AT_ONCE = 3;

const postgres = isFullCampaign ? await testServer() : undefined;
const folder = mkdtempSync(join(tmpdir(), 'countersign-gate-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('killed callers on one SQLite file', () => survives('SQLite', { sqlite: join(folder, 'runs.db') }), 1_800_000);

test.runIf(postgres)(
  'killed callers on one PostgreSQL',
  async () => survives('PostgreSQL', { postgres: (await postgres?.freshDatabase()) ?? '' }),
  1_800_000,
);

async function survives(name: string, place: Place): Promise<void> {
  const path = join(folder, `effects on ${name}`);
  const ledger = new Ledger<Effect>(path);
  const store = openStore(place);
  const ai = countersign({ store, leaseMs: LEASE_MS });
  const gate = ai.gate({ name: 'pay', title: 'Pay' });
  const random = randomFrom(27);
  let isOver = false;
  let doubts = 0;
  const isRejected = (key: string) => key.endsWith('9');

  /** Rejects some calls, edits none, and answers doubts by looking at the ledger, as a person would. */
  async function decide(question: RunRequest): Promise<void> {
    const { key } = question.input as { key: string };
    if (question.kind !== 'doubt')
      return void (await ai.runs.decide(question.id, isRejected(key) ? 'reject' : 'approve', { by: 'bea' }));
    doubts += 1;
    // The caller may still be about to act.
    await delay(2 * LEASE_MS);
    const happened = ledger.read().some((effect) => effect.key === key);
    const decision = happened ? ({ type: 'respond', output: { paid: key } } as const) : 'approve';
    await ai.runs.decide(question.id, decision, { by: 'bea' });
  }

  const deciding = (async () => {
    while (!isOver) {
      const { items } = await ai.runs.requests({ limit: 100 });
      await Promise.all(items.map((question) => decide(question).catch(() => undefined)));
      await delay(20);
    }
  })();
  const worker = ai.runs.work({ pollMs: 200 });
  const seeds = Array.from({ length: KILLS }, (_, index) => index + 1);
  const lane = async (): Promise<void> => {
    for (let seed = seeds.pop(); seed !== undefined; seed = seeds.pop()) {
      const dieAt = random.chance(0.6) ? { dieAt: 1 + random.below(30) } : {};
      const child = startChild('../gate/calling-child.ts', { place, ledger: path, keys: KEYS, seed, ...dieAt });
      if ((await child.line()) === undefined) throw new Error((await child.ended).errors);
      await Promise.race([child.ended, delay(300 + random.below(900))]);
      child.kill('SIGKILL');
      await child.ended;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  const keys = Array.from({ length: KEYS }, (_, index) => `k${index}`);
  const run = (key: string) => (input: unknown) => {
    ledger.write({ key, input, pid: process.pid });
    return { paid: key };
  };
  const results = await Promise.all(keys.map((key) => finished(key)));

  async function finished(key: string) {
    for (;;) {
      const result = await gate.request(inputOf(key), { key, run: run(key) });
      if (result.status !== 'pending' && result.status !== 'doubt' && result.status !== 'started') return result;
      await gate.wait({ key }, { timeout: 1_000 });
    }
  }

  isOver = true;
  await Promise.all([deciding, worker.stop()]);
  const effects = ledger.read();
  const perKey = Map.groupBy(effects, ({ key }) => key);
  const twice = [...perKey].filter(([, lines]) => lines.length > 1).map(([key]) => key);
  console.log(
    `${name}: ${JSON.stringify({ kills: KILLS, calls: KEYS, effects: effects.length, twice: twice.length, doubts })}`,
  );
  expect(twice).toEqual([]);
  for (const { key, input } of effects) expect(input).toEqual(inputOf(key));
  expect(keys.filter((key) => isRejected(key) && perKey.has(key))).toEqual([]);
  const wanted = keys.map((key) => (isRejected(key) ? 'rejected' : 'done'));
  expect(results.map(({ status }) => status)).toEqual(wanted);
  expect(keys.filter((key) => !isRejected(key) && !perKey.has(key))).toEqual([]);
  for (const key of keys) expect(await ai.runs.verify(gate.runId(key))).toMatchObject({ ok: true });
  await store.close();
}
