import assert from 'node:assert/strict';
import { budget, repeat } from '../lib/measure.mjs';
import { DONE } from '../lib/plan.mjs';

export default {
  id: 'D',
  title: 'One turn with 32 tool calls, 16 of which need approval; approve all; finish',
  rounds: 7,
  variants: [{ key: '32 calls', n: 32 }],
  async open(adapter, { n }) {
    return { d: await adapter.create({ plan: 'parallel', n }) };
  },
  async round({ d }, { n }, env) {
    const before = { ...d.counts };
    let last, pending, plainAtPause;
    const r = await repeat(async () => {
      const l0 = d.counts.lookup;
      const h = await d.pause();
      pending = h.pending;
      plainAtPause = d.counts.lookup - l0;
      last = await d.resume(h);
      await d.dispose?.(h);
    }, budget(env));
    assert.equal(last, DONE);
    assert.equal(d.counts.transfer - before.transfer, (r.iters * n) / 2, 'approved calls must run exactly once');
    return {
      ...r,
      cpuUsPerCall: r.cpuUs / n,
      perSec: 1e6 / r.wallUs,
      pending,
      plainAtPause,
      plainRuns: (d.counts.lookup - before.lookup) / r.iters,
    };
  },
  close: (c) => c?.d.close?.(),
  primary: 'cpuUs',
  columns: [
    ['CPU µs/turn', 'cpuUs'],
    ['wall µs', 'wallUs'],
    ['CPU µs/call', 'cpuUsPerCall'],
    ['pending shown at pause', 'pending'],
    ['plain calls run before pause', 'plainAtPause'],
    ['plain runs in all', 'plainRuns'],
  ],
};
