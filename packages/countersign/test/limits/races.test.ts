// Many calls in several processes count towards one limit at the same moment, and processes are killed: no more start than it allows.
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { Json, Rule } from '../../src/index.ts';
import { campaignSize } from '../campaign-size.ts';
import { openStore, type Place } from '../crash/bank.ts';
import { startChild } from '../crash/children.ts';
import { openPayer } from '../grants/kit.ts';
import type { Race, Raced, RaceOptions } from '../grants/race-child.ts';
import { testServer } from '../stores/postgres-server.ts';

const PROCESSES = 3;
const RUNS = 17;
const ROOM = 15;
const rules: readonly Rule[] = [{ tool: 'pay', limit: { sum: 'amount', most: ROOM * 10, per: '1d' } }];

let made = 0;
const postgres = await testServer();
const folder = mkdtempSync(join(tmpdir(), 'countersign-limits-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const places: readonly (readonly [string, () => Promise<Place>])[] = [
  ['SQLite', async () => ({ sqlite: join(folder, `${++made}.db`) })],
  ...(postgres ? [['PostgreSQL', async () => ({ postgres: await postgres.freshDatabase() })] as const] : []),
];

async function race(place: Place, kill: boolean) {
  const paid = join(folder, `paid-${Math.random()}.txt`);
  const store = openStore(place);
  await store.migrate();
  const program = join('..', 'grants', 'race-child.ts');
  // Short where another process is to take over. A process that has to wait for its turn would lose its runs.
  const options: RaceOptions = { place, rules, paid, ...(kill && { leaseMs: 500 }) };
  const children = Array.from({ length: PROCESSES }, () => startChild(program, options));
  try {
    await Promise.all(children.map(({ line }) => line()));
    const order: Race = { at: Date.now() + 50, runs: RUNS, amount: 10 };
    for (const child of children) child.say(order);
    const lines = kill ? await killSome(children, order.at) : await Promise.all(children.map(({ line }) => line()));
    return { store, paid: linesOf(paid), lines, file: paid };
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(children.map(({ ended }) => ended));
  }
}

async function killSome(children: readonly ReturnType<typeof startChild>[], at: number): Promise<readonly undefined[]> {
  for (const child of children) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, at - Date.now()) + Math.random() * 120));
    child.kill('SIGKILL');
  }
  return [];
}

function linesOf(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}

test.each(campaignSize(places.slice(-1), places))(
  'on %s, 51 calls in three processes cannot pass a limit',
  { timeout: 120_000 },
  async (_name, makePlace) => {
    const { store, paid, lines } = await race(await makePlace(), false);
    const raced = lines.map((line): Raced => JSON.parse(line ?? '{}'));
    const sum = (field: keyof Raced) => raced.reduce((total, one) => total + one[field], 0);
    expect({ paid: sum('paid'), waiting: sum('waiting') }).toEqual({ paid: ROOM, waiting: PROCESSES * RUNS - ROOM });
    expect(new Set(paid).size).toBe(ROOM);
    await store.close();
  },
);

test.each(campaignSize(places.slice(0, 1), places))(
  'on %s, processes that are killed leave no room for more, and block none for good',
  {
    timeout: 120_000,
  },
  async (_name, makePlace) => {
    const place = await makePlace();
    const { store, file } = await race(place, true);
    const act = async (_name: string, key: string, output: Json): Promise<Json> => {
      appendFileSync(file, `${key}\n`);
      return output;
    };
    const { ai, start } = openPayer(store, { needsApproval: false }, { rules, act, leaseMs: 500 });
    const worker = ai.runs.work({ pollMs: 20 });
    await expect
      .poll(async () => (await ai.runs.list({ status: 'running', limit: 1 })).items.length, { timeout: 60_000 })
      .toBe(0);
    // The calls in doubt may have acted, and so they count. A person says of each that it did not happen.
    const doubts = (await ai.runs.requests({ limit: 100 })).items.filter(({ kind }) => kind === 'doubt');
    const before = linesOf(file);
    expect(new Set(before).size).toBe(before.length);
    expect(before.length).toBeLessThanOrEqual(ROOM);
    for (let more = 0; more < ROOM; more += 1) await start([{ to: 'ACME', amount: 10 }]);
    const after = linesOf(file);
    expect(new Set(after).size).toBe(after.length);
    // Those in doubt have acted or not, and take their room either way; so do those of a run that the store has failed.
    expect(after.length).toBeLessThanOrEqual(ROOM);
    const { items: failed } = await ai.runs.list({ status: 'failed', limit: 100 });
    expect(after.length + doubts.length + failed.length).toBeGreaterThanOrEqual(ROOM);
    await worker.stop();
    await store.close();
  },
);
