// Claims are renewed while a tool runs, so a live process keeps a call that runs longer than its lease.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countersign } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { eventually } from '../eventually.ts';

const LEASE_MS = 60_000;
const RUNS = 10;

const folder = mkdtempSync(join(tmpdir(), 'countersign-claims-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function open(store: Store, clock: () => number, body: () => Promise<string>) {
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'work' }] },
  );
  const ai = countersign({ model, store, clock, leaseMs: LEASE_MS, retry: false });
  const work = ai.defineTool({ name: 'work', description: '' }, body);
  return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [work] }) };
}

test('a tool that runs four leases long is started once, and no question is asked', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  let [now, started, renewed, looks] = [1_800_000_000_000, 0, 0, 0];
  const clock = () => now;
  const worked = Promise.withResolvers<string>();
  const body = () => {
    started += 1;
    return worked.promise;
  };
  const path = join(folder, 'runs.db');
  const [mine, theirs] = [sqliteStore({ path, now: clock }), sqliteStore({ path, now: clock })];
  const renew: Store['renew'] = (...args) => mine.renew(...args).finally(() => (renewed += 1));
  const due: Store['due'] = (...args) => theirs.due(...args).finally(() => (looks += 1));
  const first = open(changedStore(mine, { renew }), clock, body);
  const second = open(changedStore(theirs, { due }), clock, body);
  const rival = second.runs.work({ pollMs: 20, concurrency: RUNS });
  const ids = await Promise.all(Array.from({ length: RUNS }, async () => (await first.clerk.start('Work.')).id));
  await eventually(() => expect(started).toBe(RUNS));
  for (let third = 0; third < 12; third++) {
    const before = { renewed, looks };
    now += LEASE_MS / 3;
    vi.advanceTimersByTime(LEASE_MS / 3);
    await eventually(() => expect(renewed).toBeGreaterThanOrEqual(before.renewed + RUNS));
    await eventually(() => expect(looks).toBeGreaterThan(before.looks + 1));
  }
  worked.resolve('worked');
  const views = await Promise.all(ids.map((id) => first.runs.wait(id, { until: 'end' })));
  await rival.stop();
  expect(views.map(({ status }) => status)).toEqual(ids.map(() => 'done'));
  expect(started).toBe(RUNS);
  expect((await first.runs.requests({ settled: true })).items).toEqual([]);
  await Promise.all([mine.close(), theirs.close()]);
});
