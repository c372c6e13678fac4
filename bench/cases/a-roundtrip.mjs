import assert from 'node:assert/strict';
import { budget, repeat } from '../lib/measure.mjs';
import { DONE } from '../lib/plan.mjs';

export default {
  id: 'A',
  title: 'In-memory pause -> approve -> resume round trip (1 tool call, 2 model turns)',
  rounds: 9,
  variants: [{ key: 'roundtrip' }],
  async open(adapter) {
    return { d: await adapter.create({ plan: 'approve' }) };
  },
  async round({ d }, _v, env) {
    const before = d.counts.transfer;
    let last;
    const r = await repeat(async () => {
      const h = await d.pause();
      last = await d.resume(h);
      await d.dispose?.(h);
    }, budget(env));
    assert.equal(last, DONE);
    assert.equal(d.counts.transfer - before, r.iters, 'each approved call must run exactly once');
    return { ...r, perSec: 1e6 / r.wallUs };
  },
  close: (c) => c?.d.close?.(),
  primary: 'cpuUs',
  columns: [
    ['CPU µs', 'cpuUs'],
    ['wall µs', 'wallUs'],
    ['round trips/s (wall)', 'perSec'],
  ],
};
