// Processes that tell people about requests, killed with SIGKILL at random moments: no notice is lost, and a receiver that drops
// repeated keys sees none twice.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import type { RunRequest } from '../../src/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite.ts';
import { campaignSize, isFullCampaign } from '../campaign-size.ts';
import { changedStore } from '../changed-store.ts';
import { Ledger, openStore, type Place } from '../crash/bank.ts';
import { type Child, startChild } from '../crash/children.ts';
import { randomOf } from '../random.ts';
import { testServer } from '../stores/postgres-server.ts';
import { openDesk, PEOPLE } from './desk.ts';
import type { Receipt } from './receiver-child.ts';

const KILLS = campaignSize(10, 300);
const AT_ONCE = 3;
const SEED = 20_261_118;
/** Killed processes leave leases, and refused notices wait for up to an hour. For the last process, time passes faster. */
const FASTER = 60;

const postgres = isFullCampaign ? await testServer() : undefined;
const folder = mkdtempSync(join(tmpdir(), 'countersign-notices-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('killed processes on one SQLite file', () => survives('SQLite', { sqlite: join(folder, 'runs.db') }), 1_800_000);

test.runIf(postgres)(
  'killed processes on one PostgreSQL',
  async () => survives('PostgreSQL', { postgres: (await postgres?.freshDatabase()) ?? '' }),
  1_800_000,
);

async function survives(name: string, place: Place): Promise<void> {
  const receipts = join(folder, `receipts of ${name}`);
  const receiver = startChild('../notices/receiver-child.ts', { receipts, moody: true });
  const url = `http://127.0.0.1:${await receiver.line()}`;
  try {
    await registered(place, url);
    const random = randomOf(SEED);
    const seeds = Array.from({ length: KILLS }, (_, index) => index + 1);
    const lane = async (): Promise<void> => {
      for (let seed = seeds.pop(); seed !== undefined; seed = seeds.pop()) await killOne(place, url, seed, random);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    const { questions, lost } = await recover(place, url, new Ledger<Receipt>(receipts));
    const received = new Ledger<Receipt>(receipts).read();
    const figures = { kills: KILLS, questions: questions.length, posts: received.length, ...countsOf(received) };
    console.log(`${name}: ${JSON.stringify({ ...figures, lost: lost.length })}`);
    expect(lost).toEqual([]);
    expect(figures.duplicates).toBe(0);
    expect(outOfOrder(received)).toEqual([]);
    // The kills must hit senders between a post and its record, or the campaign proves nothing.
    expect(figures.repeats).toBeGreaterThanOrEqual(Math.floor(KILLS / 20));
  } finally {
    receiver.kill('SIGKILL');
    await receiver.ended;
  }
}

/** The channels exist before the first request, and the compile cache is filled. */
async function registered(place: Place, url: string): Promise<void> {
  const child = startChild('../notices/telling-child.ts', { place, url, seed: 0, runs: 1 });
  await ready(child);
  await delay(500);
  child.kill('SIGTERM');
  await child.ended;
}

async function ready(child: Child): Promise<void> {
  if ((await child.line()) === undefined) throw new Error((await child.ended).errors);
}

/** Half of them die at a chosen step, the others at any moment. */
async function killOne(place: Place, url: string, seed: number, random: () => number): Promise<void> {
  const dieAt = random() < 0.5 ? { dieAt: 1 + Math.floor(random() * 150) } : {};
  const afterMs = 'dieAt' in dieAt ? 2_000 : 50 + random() * 500;
  const child = startChild('../notices/telling-child.ts', { place, url, seed, runs: 4, ...dieAt });
  await ready(child);
  await Promise.race([child.ended, delay(afterMs)]);
  child.kill('SIGKILL');
  const { signal, errors } = await child.ended;
  expect({ signal, errors: signal === 'SIGKILL' ? '' : errors }).toEqual({ signal: 'SIGKILL', errors: '' });
}

/** A last process tells what is left. Returns the notices that never arrived. */
async function recover(place: Place, url: string, receipts: Ledger<Receipt>) {
  const began = Date.now();
  const fast = () => began + (Date.now() - began) * FASTER;
  // On PostgreSQL, the leases of untold requests are by the clock of the database, which stays as it is.
  const store =
    'sqlite' in place
      ? sqliteStore({ path: place.sqlite, now: fast })
      : changedStore(openStore(place), { now: async () => fast() });
  const { ai, runs } = openDesk({ url, leaseMs: 3_600_000, store, clock: fast });
  const worker = runs.work({ pollMs: 50, onError: () => undefined });
  try {
    for (;;) {
      const questions = await everyRequest(runs);
      const lost = missingIn(receipts.read(), questions);
      if (lost.length === 0 || Date.now() - began > 900_000) return { questions, lost };
      await delay(100);
    }
  } finally {
    await worker.stop();
    await ai.runs.store.close();
  }
}

async function everyRequest(runs: ReturnType<typeof openDesk>['runs']): Promise<readonly RunRequest[]> {
  const all: RunRequest[] = [];
  for (const settled of [false, true])
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await runs.requests({ settled, limit: 100, ...(cursor !== undefined && { cursor }) });
      all.push(...page.items);
      cursor = page.cursor;
    }
  return all;
}

/** The shared channel gets everything. A person who learned of a pending request learns how it ended, unless they ended it. */
function missingIn(receipts: readonly Receipt[], questions: readonly RunRequest[]): readonly string[] {
  const seen = new Set(receipts.map(nameOf));
  return questions.flatMap(({ id, settledAt, settlement }) => {
    const isOver = settledAt !== null;
    const hears = (person: string) => seen.has(`people ${id} ${person} opened`) && settlement?.by !== person;
    const told = PEOPLE.filter((person) => !isOver || hears(person));
    const expected = [
      `events ${id} null opened`,
      ...(isOver ? [`events ${id} null decided`] : []),
      ...told.map((person) => `people ${id} ${person} ${isOver ? 'decided' : 'opened'}`),
    ];
    return expected.filter((name) => !seen.has(name));
  });
}

const nameOf = ({ channel, requestId, person, type }: Receipt): string => `${channel} ${requestId} ${person} ${type}`;

/** `repeats`: posts whose key the receiver knows. `duplicates`: the same notice with another key. */
function countsOf(receipts: readonly Receipt[]) {
  const keys = new Set(receipts.map(({ key }) => key));
  const notices = new Set(receipts.map(nameOf));
  return { notices: notices.size, repeats: receipts.length - keys.size, duplicates: keys.size - notices.size };
}

/** The requests whose end a recipient heard of before their beginning. */
function outOfOrder(receipts: readonly Receipt[]): readonly string[] {
  const names = [...new Set(receipts.map(nameOf))];
  const place = new Map(names.map((name, index) => [name, index]));
  return names.filter((name) => (place.get(name.replace(/opened$/, 'decided')) ?? Infinity) < (place.get(name) ?? 0));
}
