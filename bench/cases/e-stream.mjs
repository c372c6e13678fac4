import assert from 'node:assert/strict';
import { budget, repeat } from '../lib/measure.mjs';

const sizes = [1000, 10000, 20000];
export default {
  id: 'E',
  title: 'Stream n text deltas through the public stream (and as SSE bytes where the peer has it)',
  rounds: 5,
  variants: [...sizes.map((n) => ({ key: `n=${n}`, n })), { key: 'SSE n=10000', n: 10000, sse: true }],
  async open(adapter, { n, sse }) {
    const d = await adapter.create({ plan: 'stream', n });
    return sse && !d.streamBytes ? { skip: true } : { d };
  },
  async round({ d, skip }, { n, sse }, env) {
    if (skip) return null;
    let count, bytes;
    const r = await repeat(async () => {
      count = 0;
      bytes = 0;
      if (sse)
        await d.streamBytes((b) => {
          count++;
          bytes += b.length;
        });
      else
        await d.stream((t) => {
          count++;
          bytes += t.length;
        });
    }, budget(env));
    if (sse) assert.ok(bytes >= n * 6);
    else {
      assert.equal(bytes, n * 6);
      assert.equal(count, n);
    }
    return {
      iters: r.iters,
      cpuUs: r.cpuUs / n,
      wallUs: r.wallUs / n,
      perSec: (n * 1e6) / r.wallUs,
      perCpuSec: (n * 1e6) / r.cpuUs,
      bytesPerDelta: sse ? bytes / n : undefined,
    };
  },
  close: (c) => c?.d?.close?.(),
  primary: 'cpuUs',
  columns: [
    ['CPU µs/delta', 'cpuUs'],
    ['deltas per CPU-second', 'perCpuSec'],
    ['deltas/s (wall)', 'perSec'],
    ['bytes/delta', 'bytesPerDelta'],
  ],
};
