import assert from 'node:assert/strict';
import { selfStored } from '../lib/durable.mjs';
import { budget, clock, since } from '../lib/measure.mjs';
import { countSocketBytes } from '../lib/pg.mjs';
import { DONE } from '../lib/plan.mjs';

// env.pg = { url, port } of this adapter's own database; server counters are read by run.mjs around each round.
let bytes;
export default {
  id: 'F',
  title: 'Durable pause -> approve -> resume on PostgreSQL (fsync on), per round trip',
  rounds: 7,
  needsPg: true,
  variants: [
    { key: 'sequential', conc: 1, count: 60 },
    { key: '32 concurrent', conc: 32, count: 192 },
    { key: 'pause only (200 runs left paused)', conc: 8, count: 200, pauseOnly: true, rounds: 1 },
  ],
  async open(adapter, _v, env) {
    bytes ??= countSocketBytes(env.pg.port);
    const d = await adapter.create({ plan: 'approve' });
    const opt = { connectionString: env.pg.url, poolMax: 10, ...(adapter.meta.durable ?? {}) };
    return {
      s: d.durable ? await d.durable(opt) : await selfStored(d, opt),
      seq: 0,
      tag: Math.random().toString(36).slice(2, 8),
    };
  },
  async round(c, { conc, count, pauseOnly }, env) {
    const lane = async () => {
      while (left-- > 0) {
        const id = `${c.tag}-${++c.seq}`;
        assert.equal(await c.s.pause(id), 1);
        if (!pauseOnly) assert.equal(await c.s.resume(id), DONE);
      }
    };
    const lanes = async (trips) => {
      left = trips;
      await Promise.all(Array.from({ length: conc }, lane));
    };
    let left = 0;
    if (env.warm) {
      // As in the other cases: what is measured is the steady state, of slow peers too.
      const { minCpuMs, maxWallMs } = budget(env);
      count = Math.max(conc, 20);
      for (const t = clock(); !pauseOnly && since(t).cpu < minCpuMs && since(t).wall < maxWallMs; ) await lanes(count);
    }
    globalThis.gc?.();
    const before = c.s.counts.transfer,
      b0 = bytes(),
      t0 = clock();
    await lanes(count);
    const t = since(t0),
      b1 = bytes();
    assert.equal(c.s.counts.transfer - before, pauseOnly ? 0 : count);
    return {
      iters: count,
      wallUs: (t.wall * 1000) / count,
      cpuUs: (t.cpu * 1000) / count,
      perSec: (count * 1000) / t.wall,
      sent: (b1.out - b0.out) / count,
      received: (b1.in - b0.in) / count,
    };
  },
  close: (c) => c?.s.close?.(),
  primary: 'wallUs',
  columns: [
    ['round trips/s', 'perSec'],
    ['wall µs', 'wallUs'],
    ['client CPU µs', 'cpuUs'],
    ['server CPU µs', 'serverCpuUs'],
    ['SQL statements', 'statements'],
    ['of them not BEGIN/COMMIT', 'dataStatements'],
    ['WAL bytes', 'walBytes'],
    ['database growth bytes', 'dbBytes'],
    ['bytes sent', 'sent'],
    ['bytes received', 'received'],
  ],
};
