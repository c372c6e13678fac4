import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { budget, repeat } from '../lib/measure.mjs';
import { DONE } from '../lib/plan.mjs';

// Ours only: no other framework here has votes or grants.
export default {
  id: 'Q',
  title:
    'A stored call on SQLite, from start to end, allowed by one decision, by two votes, or by a grant without a question',
  rounds: 7,
  variants: ['a decision', 'two votes', 'a grant'].map((key) => ({ key })),
  async open(adapter, { key }) {
    const driver = await adapter.create({ plan: 'approve' });
    if (!driver.allowed) return {};
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'countersign-bench-authority-'));
    const store = await driver.openStore('sqlite', path.join(folder, 'runs.db'));
    return { folder, s: await driver.allowed(key, store), seq: 0 };
  },
  async round(c, { key }, env) {
    if (!c.s) return null;
    const before = c.s.counts.transfer;
    let decisions = 0;
    const r = await repeat(async () => {
      const made = await c.s.once(`run-${++c.seq}`);
      assert.equal(made.text, DONE);
      decisions += made.decisions;
    }, budget(env));
    assert.equal(c.s.counts.transfer - before, r.iters, 'each allowed call must run exactly once');
    const each = { 'a decision': 1, 'two votes': 2 }[key];
    // A grant covers 1,000 calls: the first call, and the first after them, ask.
    if (each) assert.equal(decisions, each * r.iters);
    else assert.ok(decisions <= 1 + r.iters / 1_000);
    return { ...r, perSec: 1e6 / r.wallUs };
  },
  async close(c) {
    if (!c?.s) return;
    await c.s.close();
    fs.rmSync(c.folder, { recursive: true, force: true });
  },
  primary: 'cpuUs',
  columns: [
    ['CPU µs', 'cpuUs'],
    ['wall µs', 'wallUs'],
    ['a second', 'perSec'],
  ],
};
