import assert from 'node:assert/strict';
import { budget, repeat } from '../lib/measure.mjs';
import { DONE } from '../lib/plan.mjs';

export default {
  id: 'B',
  title: 'Long loop: one run of n model turns, each one plain tool call (no pause); per turn',
  rounds: 5,
  variants: [25, 100, 400, 1600].map((n) => ({ key: `n=${n}`, n })),
  async open(adapter, { n }) {
    return { d: await adapter.create({ plan: 'loop', n }) };
  },
  async round({ d }, { n }, env) {
    const before = d.counts.lookup;
    let last;
    const r = await repeat(async () => {
      last = await d.run();
    }, budget(env));
    assert.equal(last, DONE);
    assert.equal(d.counts.lookup - before, r.iters * n);
    return { iters: r.iters, cpuUs: r.cpuUs / n, wallUs: r.wallUs / n, totalCpuMs: r.cpuUs / 1000 };
  },
  close: (c) => c?.d.close?.(),
  primary: 'cpuUs',
  columns: [
    ['CPU µs/turn', 'cpuUs'],
    ['wall µs/turn', 'wallUs'],
    ['CPU ms/run', 'totalCpuMs'],
  ],
};
