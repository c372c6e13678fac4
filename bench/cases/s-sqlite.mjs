import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { roundTrips, selfStoredSqlite } from '../lib/durable.mjs';

// Only what has a store on SQLite: the floors, and ours.
const byHand = (adapter, d, file) =>
  d.durableSqlite ? d.durableSqlite(file) : adapter.meta.kind === 'floor' && selfStoredSqlite(d, file);

export default {
  id: 'S',
  title: 'Durable pause -> approve -> resume on SQLite (WAL, synchronous = FULL), per round trip',
  rounds: 7,
  variants: [
    { key: 'sequential', conc: 1, count: 60 },
    { key: '32 concurrent', conc: 32, count: 192 },
  ],
  async open(adapter) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'countersign-bench-sqlite-'));
    const file = path.join(folder, 'runs.db');
    const d = await adapter.create({ plan: 'approve' });
    const store = await d.openStore?.('sqlite', file);
    const s = store ? await d.durable({ store }) : await byHand(adapter, d, file);
    return { folder, s, seq: 0, tag: Math.random().toString(36).slice(2, 8) };
  },
  round: (c, variant, env) => (c.s ? roundTrips(c, variant, env) : null),
  async close(c) {
    if (c?.s) await c.s.close();
    if (c) fs.rmSync(c.folder, { recursive: true, force: true });
  },
  primary: 'wallUs',
  columns: [
    ['round trips/s', 'perSec'],
    ['wall µs', 'wallUs'],
    ['CPU µs', 'cpuUs'],
  ],
};
