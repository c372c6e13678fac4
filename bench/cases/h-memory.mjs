import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { selfStoredSqlite } from '../lib/durable.mjs';
import { tick } from '../lib/measure.mjs';
import { DONE } from '../lib/plan.mjs';

async function heap() {
  for (let i = 0; i < 4; i++) {
    globalThis.gc();
    await tick();
  }
  const m = process.memoryUsage();
  return m.heapUsed + m.external; // external covers Buffers / Uint8Arrays
}
export default {
  id: 'H',
  title: 'Memory of paused runs held in process, and what stays behind after they finish',
  rounds: 2,
  variants: [
    { key: '1000 paused runs', count: 1000 },
    { key: '10000 paused runs in a store', count: 10_000, stored: true },
  ],
  async open(adapter, { stored }) {
    const d = await adapter.create({ plan: 'approve' });
    if (!stored) return { d };
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'countersign-bench-memory-'));
    const file = path.join(folder, 'runs.db');
    const store = await d.openStore?.('sqlite', file);
    // No screen holds a card: only the memory of the process counts.
    const s = store
      ? await d.durable({ store, keepCards: false })
      : adapter.meta.kind === 'floor' && (await selfStoredSqlite(d, file));
    return { d, s, folder, seq: 0 };
  },
  async round(c, { count, stored }, env) {
    if (env.warm) count = 50;
    return stored ? heldWhileStored(c, count) : held(c, count);
  },
  async close(c) {
    if (c?.s) await c.s.close();
    await c?.d.close?.();
    if (c?.folder) fs.rmSync(c.folder, { recursive: true, force: true });
  },
  primary: 'bytesPerPaused',
  columns: [
    ['heap bytes / paused run', 'bytesPerPaused'],
    ['MB / 10,000 paused', 'mbPer10k'],
    ['bytes left / finished run', 'leftPerFinished'],
    ['bytes saved / paused run', 'saved'],
  ],
};

async function heldWhileStored(c, count) {
  if (!c.s) return null;
  const pause = async (n) => {
    for (let i = 0; i < n; i++) assert.equal(await c.s.pause(`run-${++c.seq}`), 1);
  };
  await pause(500);
  const h0 = await heap();
  await pause(count);
  const h1 = await heap();
  return { iters: count, bytesPerPaused: (h1 - h0) / count, mbPer10k: (((h1 - h0) / count) * 10000) / 1e6 };
}

async function held({ d }, count) {
  for (let i = 0; i < 20; i++) {
    const h = await d.pause();
    await d.resume(h);
    await d.dispose?.(h);
  }
  const h0 = await heap();
  const held = new Array(count);
  for (let i = 0; i < count; i++) held[i] = await d.pause();
  const h1 = await heap();
  const saved = d.save ? Buffer.byteLength(d.save(held[0])) : d.savedBytes?.(held[0]);
  for (let i = 0; i < count; i++) assert.equal(await d.resume(held[i]), DONE);
  const handles = held.slice();
  held.length = 0;
  const ids = d.dispose ? handles.map((h) => ({ id: h.id })) : [];
  handles.length = 0;
  const h2 = await heap(); // finished, nothing held by the caller, nothing disposed
  for (const h of ids) await d.dispose(h);
  return {
    iters: count,
    bytesPerPaused: (h1 - h0) / count,
    mbPer10k: (((h1 - h0) / count) * 10000) / 1e6,
    leftPerFinished: (h2 - h0) / count,
    saved,
  };
}
