// Durable round trips: how they are measured, and what users of a peer without a built-in store write themselves.
import assert from 'node:assert/strict';
import { budget, clock, since } from './measure.mjs';
import { DONE } from './plan.mjs';

// Pause, approve and resume, in so many lanes at once. c = { s: the durable driver, seq, tag }.
export async function roundTrips(c, { conc, count, pauseOnly }, env) {
  let left = 0;
  const lane = async () => {
    while (left-- > 0) {
      const id = `${c.tag}-${++c.seq}`;
      assert.equal(await c.s.pause(id), 1);
      if (!pauseOnly) assert.equal(await c.s.resume(id), DONE);
    }
  };
  const before = c.s.counts.transfer,
    t0 = clock();
  // The steady state of a server is meant: everybody is given the same time to get warm, and no collection is forced
  // between rounds, which would throw compiled code away.
  const { minCpuMs, maxWallMs } = pauseOnly
    ? { minCpuMs: 0, maxWallMs: 0 }
    : env.warm
      ? { minCpuMs: Infinity, maxWallMs: 15_000 }
      : budget(env);
  let iters = 0;
  do {
    left = count;
    await Promise.all(Array.from({ length: conc }, lane));
    iters += count;
  } while (since(t0).cpu < minCpuMs && since(t0).wall < maxWallMs);
  const t = since(t0);
  assert.equal(c.s.counts.transfer - before, pauseOnly ? 0 : iters);
  return {
    iters,
    wallUs: (t.wall * 1000) / iters,
    cpuUs: (t.cpu * 1000) / iters,
    perSec: (iters * 1000) / t.wall,
  };
}

// One row per run.
//   pause : INSERT (id, 'paused', state)
//   resume: SELECT state; decide; finish; UPDATE (status 'done', state = null)
// 'two-commits' leaves the SELECT out and is the floor: INSERT + UPDATE, state kept by the caller.
export async function selfStored(driver, { connectionString, poolMax, mode = 'row' }) {
  const pg = (await import('pg')).default;
  const pool = new pg.Pool({ connectionString, max: poolMax });
  await pool.query('CREATE TABLE IF NOT EXISTS runs (id text PRIMARY KEY, status text NOT NULL, state jsonb)');
  const held = new Map();
  return {
    counts: driver.counts,
    async pause(id) {
      const h = await driver.pause();
      const s = driver.save(h);
      await pool.query({
        name: 'ins',
        text: 'INSERT INTO runs (id, status, state) VALUES ($1, $2, $3)',
        values: [id, 'paused', s],
      });
      if (mode === 'two-commits') held.set(id, s);
      return h.pending;
    },
    async resume(id) {
      let s;
      if (mode === 'two-commits') {
        s = held.get(id);
        held.delete(id);
      }
      // ::text so that the driver gets back the string it saved, not a parsed object
      else
        s = (await pool.query({ name: 'sel', text: 'SELECT state::text AS s FROM runs WHERE id = $1', values: [id] }))
          .rows[0].s;
      const text = await driver.resume(await driver.load(s));
      await pool.query({
        name: 'upd',
        text: `UPDATE runs SET status = 'done', state = NULL WHERE id = $1`,
        values: [id],
      });
      return text;
    },
    close: () => pool.end(),
  };
}

// The same three statements on Node's own SQLite, with the durability of sqliteStore: WAL, synchronous = FULL.
export async function selfStoredSqlite(driver, path) {
  const { DatabaseSync } = await import('node:sqlite');
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  db.exec('CREATE TABLE runs (id TEXT PRIMARY KEY, status TEXT NOT NULL, state TEXT) STRICT');
  const insert = db.prepare('INSERT INTO runs (id, status, state) VALUES (?, ?, ?)');
  const select = db.prepare('SELECT state FROM runs WHERE id = ?');
  const update = db.prepare("UPDATE runs SET status = 'done', state = NULL WHERE id = ?");
  return {
    counts: driver.counts,
    async pause(id) {
      const h = await driver.pause();
      insert.run(id, 'paused', driver.save(h));
      return h.pending;
    },
    async resume(id) {
      const text = await driver.resume(await driver.load(select.get(id).state));
      update.run(id);
      return text;
    },
    close: () => db.close(),
  };
}
