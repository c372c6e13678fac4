import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { median } from '../lib/stats.mjs';

const PAGE = 50;
const FEW = 1_000;
const MANY = 100_000;
const EVENTS = 10_000;

// Only adapters with their own store that the case can fill: ours.
export default {
  id: 'L',
  title: `Stores at size: the first page of pending interrupts, and a run of ${EVENTS.toLocaleString('en')} events`,
  rounds: 3,
  needsPg: true,
  variants: [
    { key: 'PostgreSQL', store: 'postgres' },
    { key: 'SQLite', store: 'sqlite' },
  ],
  async open(adapter, { store: kind }, env) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'countersign-bench-sizes-'));
    const d = await adapter.create({ plan: 'approve' });
    const at = (name) => (kind === 'sqlite' ? path.join(folder, name) : env.pg.url);
    if (!d.openStore) return { folder };
    const store = await d.openStore(kind, at('runs.db'), 'many');
    const few = await d.openStore(kind, at('few.db'), 'few');
    await fill(few, FEW);
    await fill(store, MANY);
    await addEvents(store, 'short', 100);
    await addEvents(store, 'long', EVENTS);
    return { folder, store, few };
  },
  async round({ store, few }) {
    if (!store) return null;
    const page = async (of) => assert.equal((await of.listRequests({ limit: PAGE })).items.length, PAGE);
    const read = async (id, events) => assert.equal((await store.read(id)).events.length, events);
    const [fewUs, manyUs] = await timed(60, [() => page(few), () => page(store)]);
    const [shortUs, longUs] = await timed(10, [() => read('short', 100), () => read('long', EVENTS)]);
    return { iters: 1, fewUs, manyUs, shortUs, longUs, perEventUs: longUs / EVENTS };
  },
  async close(c) {
    await c?.store?.close();
    await c?.few?.close();
    if (c) fs.rmSync(c.folder, { recursive: true, force: true });
  },
  primary: 'manyUs',
  columns: [
    [`first page of ${FEW.toLocaleString('en')} µs`, 'fewUs'],
    [`of ${MANY.toLocaleString('en')} µs`, 'manyUs'],
    ['read 100 events µs', 'shortUs'],
    [`read ${EVENTS.toLocaleString('en')} µs`, 'longUs'],
    ['µs an event', 'perEventUs'],
  ],
};

// The medians, taken in turns.
async function timed(times, works) {
  const all = works.map(() => []);
  for (let i = 0; i < times; i++)
    for (const [k, work] of works.entries()) {
      const t = performance.now();
      await work();
      all[k].push((performance.now() - t) * 1000);
    }
  return all.map(median);
}

const append = (runId, expectedVersion, events, more) => ({
  runId,
  expectedVersion,
  ...(expectedVersion === 0 && { create: { id: runId, agent: 'clerk', startedBy: 'ann' } }),
  events,
  hash: 'h'.repeat(22),
  status: 'waiting',
  wakeAt: null,
  outcome: null,
  opened: [],
  settled: [],
  ...more,
});
const stepDone = (step, output) => ({ v: 1, type: 'step-done', callId: 'call', step, output, at: 1_000 });

// Interrupts with cards of a usual size, one per run.
async function fill(store, count) {
  const one = (i) => {
    const runId = `run-${i}`;
    const card = { part: { toolRequest: { name: 'transfer', ref: 'c', input: { to: 'x'.repeat(100), amount: i } } } };
    const more = {
      id: `${runId}:q`,
      runId,
      agent: 'clerk',
      tool: 'transfer',
      kind: 'approval',
      risk: 'high',
      labels: [],
    };
    const times = { createdAt: 1_000 + i, expiresAt: null, deciders: null };
    return append(runId, 0, [stepDone('a', 'x'.repeat(100))], {
      opened: [{ ...more, ...times, card, digest: 'd'.repeat(22) }],
    });
  };
  const together = 64;
  for (let i = 0; i < count; i += together)
    await Promise.all(Array.from({ length: Math.min(together, count - i) }, (_, k) => store.append(one(i + k))));
}

async function addEvents(store, runId, count) {
  const together = 10;
  for (let version = 0; version < count; version += together) {
    const events = Array.from({ length: together }, (_, k) => stepDone(`${version + k}`, 'x'.repeat(200)));
    await store.append(append(runId, version, events));
  }
}
