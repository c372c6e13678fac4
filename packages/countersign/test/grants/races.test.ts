// Many calls in several processes use one grant at the same moment: together they never take more than it allows.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openStore, type Place } from '../crash/bank.ts';
import { startChild } from '../crash/children.ts';
import { testServer } from '../stores/postgres-server.ts';
import { openPayer } from './kit.ts';
import type { Race, Raced, RaceOptions } from './race-child.ts';

const PROCESSES = 3;
const RUNS = 17;

const postgres = await testServer();
const folder = mkdtempSync(join(tmpdir(), 'countersign-grants-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const places: readonly (readonly [string, () => Promise<Place>])[] = [
  ['SQLite', async () => ({ sqlite: join(folder, 'runs.db') })],
  ...(postgres ? [['PostgreSQL', async () => ({ postgres: await postgres.freshDatabase() })] as const] : []),
];

test.each(places)('on %s, 51 calls in three processes cannot overdraw a budget', async (_name, makePlace) => {
  const place = await makePlace();
  const store = openStore(place);
  await store.migrate();
  const { ai, give } = openPayer(store);
  const grant = await give({ uses: 40, budget: { field: 'amount', total: 150 } });
  const program = join('..', 'grants', 'race-child.ts');
  const children = Array.from({ length: PROCESSES }, () => startChild(program, { place } satisfies RaceOptions));
  try {
    await Promise.all(children.map(({ line }) => line()));
    const race: Race = { at: Date.now() + 50, runs: RUNS, amount: 10 };
    for (const child of children) child.say(race);
    const lines = await Promise.all(children.map(({ line }) => line()));
    const raced = lines.map((line): Raced => JSON.parse(line ?? '{}'));
    const sum = (field: keyof Raced) => raced.reduce((total, one) => total + one[field], 0);
    expect({ paid: sum('paid'), waiting: sum('waiting') }).toEqual({ paid: 15, waiting: 36 });
    const { status, left, calls } = await ai.grants.get(grant.id);
    expect({ status, left }).toEqual({ status: 'used-up', left: { uses: 25, amount: 0 } });
    expect(new Set(calls.map(({ runId }) => runId)).size).toBe(15);
    expect(calls.every((use) => use.status === 'spent')).toBe(true);
    expect(await ai.grants.verify(grant.id)).toMatchObject({ ok: true });
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(children.map(({ ended }) => ended));
    await store.close();
  }
});
