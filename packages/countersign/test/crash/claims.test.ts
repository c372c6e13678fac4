// Claims are renewed while a tool runs: what takes longer than a claim lasts is not taken away from a process that lives.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { countersign, type Store } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';
import { afterAll, expect, test } from 'vitest';

const LEASE_MS = 300;
const RUNS = 10;

const folder = mkdtempSync(join(tmpdir(), 'countersign-claims-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function open(store: Store, started: string[]) {
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'work' }] },
  );
  const ai = countersign({ model, store, leaseMs: LEASE_MS, retry: false });
  const work = ai.defineTool({ name: 'work', description: '' }, async (_input, { callId }) => {
    started.push(callId);
    await delay(4 * LEASE_MS);
    return 'worked';
  });
  return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [work] }) };
}

test('a tool that takes four times as long as a claim lasts is started once, and nobody is asked', async () => {
  const path = join(folder, 'runs.db');
  const stores = [sqliteStore(path), sqliteStore(path)];
  const started: string[] = [];
  const [first, second] = stores.map((store) => open(store, started));
  if (!first || !second) throw new Error('two');
  const rival = second.runs.work({ pollMs: 20, concurrency: RUNS });
  const ids = await Promise.all(Array.from({ length: RUNS }, async () => (await first.clerk.start('Work.')).id));
  const views = await Promise.all(ids.map((id) => first.runs.wait(id, { until: 'end' })));
  await rival.stop();
  expect(views.map(({ status }) => status)).toEqual(ids.map(() => 'done'));
  expect(started).toHaveLength(RUNS);
  expect((await first.runs.interrupts({ settled: true })).items).toEqual([]);
  await Promise.all(stores.map((store) => store.close()));
});
