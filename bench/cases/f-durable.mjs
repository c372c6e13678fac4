import { roundTrips, selfStored } from '../lib/durable.mjs';
import { countSocketBytes } from '../lib/pg.mjs';

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
  async round(c, variant, env) {
    const b0 = bytes();
    const others0 = c.s.othersCpuMs?.() ?? 0;
    const measured = await roundTrips(c, variant, env);
    const b1 = bytes();
    return {
      ...measured,
      othersCpuUs: (((c.s.othersCpuMs?.() ?? 0) - others0) * 1000) / measured.iters,
      sent: (b1.out - b0.out) / measured.iters,
      received: (b1.in - b0.in) / measured.iters,
    };
  },
  close: (c) => c?.s.close?.(),
  primary: 'wallUs',
  columns: [
    ['round trips/s', 'perSec'],
    ['wall µs', 'wallUs'],
    ['client CPU µs', 'cpuUs'],
    ['server CPU µs', 'serverCpuUs'],
    ['CPU µs of other servers', 'othersCpuUs'],
    ['SQL statements', 'statements'],
    ['of them not BEGIN/COMMIT', 'dataStatements'],
    ['WAL bytes', 'walBytes'],
    ['database growth bytes', 'dbBytes'],
    ['bytes sent', 'sent'],
    ['bytes received', 'received'],
  ],
};
