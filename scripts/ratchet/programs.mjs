// The programs whose costs are counted: the cases of the benchmark, with the same adapters, models and tools.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import './sources.mjs';

const { create: own } = await import('../../bench/adapters/ours/adapter.mjs');
const { create: aiSdk } = await import('../../bench/adapters/ours/ai-sdk-model.mjs');
const { memoryStore } = await import('countersign');
const { sqliteStore } = await import('countersign/sqlite');
const { postgresStore } = await import('countersign/postgres');

const DONE = 'done';
const DELTAS = 1_000;

/**
 * Each opens a program: `once` is one round trip of `per` units, `rounds` of them are counted together. `events` says how many
 * are in the record of the last run, `written` the bytes in the log of the database between its start and its end.
 */
export const programs = {
  'A: pause, approve, end': () => roundTrips(own, { plan: 'approve' }),
  'A with an AI SDK model': () => roundTrips(aiSdk, { plan: 'approve' }),
  'C: A after 5,000 messages': () => roundTrips(own, { plan: 'approve' }, { history: 5_000 }),
  'C with an AI SDK model': () => roundTrips(aiSdk, { plan: 'approve' }, { history: 5_000 }),
  'C saved': () => roundTrips(own, { plan: 'approve' }, { history: 5_000, saved: true }),
  'C saved, with an AI SDK model': () => roundTrips(aiSdk, { plan: 'approve' }, { history: 5_000, saved: true }),
  'D: 32 calls, 16 gated': () => roundTrips(own, { plan: 'parallel', n: 32 }),
  'D with an AI SDK model': () => roundTrips(aiSdk, { plan: 'parallel', n: 32 }),
  'E: a streamed delta': () => stream(own),
  'E with an AI SDK model': () => stream(aiSdk),
  'E with an AI SDK model, as server-sent events': () => stream(aiSdk, { bytes: true }),
  'memory store': () => stored(memoryStore()),
  'memory store, two votes': () => allowed('two votes'),
  'memory store, under a grant': () => allowed('a grant'),
  SQLite: () => onSqlite(),
  ...(process.env.POSTGRES_URL && { PostgreSQL: () => onPostgres(process.env.POSTGRES_URL) }),
};

async function roundTrips(create, plan, { history, saved = false } = {}) {
  const driver = await create(plan);
  const messages = history && driver.history(history);
  return {
    rounds: history ? 5 : 20,
    async once() {
      const paused = await driver.pause(messages);
      assert.equal(await driver.resume(saved ? driver.load(driver.save(paused)) : paused), DONE);
    },
  };
}

async function stream(create, { bytes = false } = {}) {
  const driver = await create({ plan: 'stream', n: DELTAS });
  return {
    rounds: 5,
    per: DELTAS,
    async once() {
      let heard = 0;
      const hear = () => {
        heard += 1;
      };
      await (bytes ? driver.streamBytes(hear) : driver.stream(hear));
      assert.ok(bytes ? heard > 0 : heard === DELTAS);
    },
  };
}

async function stored(store) {
  const { durable } = await own({ plan: 'approve' });
  const driver = await durable({ store });
  let ran = 1_000;
  return {
    rounds: 10,
    async once() {
      const id = `run-${++ran}`;
      assert.equal(await driver.pause(id), 1);
      assert.equal(await driver.resume(id), DONE);
    },
    events: async () => (await store.read(`run-${ran}`)).events.length,
    close: () => driver.close(),
  };
}

/** The first call asks a person, who gives the grant. */
async function allowed(how) {
  const store = memoryStore();
  const driver = await (await own({ plan: 'approve' })).allowed(how, store);
  let ran = 1_000;
  return {
    rounds: 10,
    async once() {
      const { text, decisions } = await driver.once(`run-${++ran}`);
      assert.equal(text, DONE);
      assert.equal(decisions, how === 'two votes' ? 2 : Number(ran === 1_001));
    },
    events: async () => (await store.read(`run-${ran}`)).events.length,
    close: () => driver.close(),
  };
}

async function onSqlite() {
  const folder = mkdtempSync(path.join(tmpdir(), 'countersign-ratchet-'));
  const file = path.join(folder, 'runs.db');
  const program = await stored(sqliteStore(file));
  return {
    ...program,
    // As few round trips as fit into the log before SQLite starts it again.
    written: {
      start() {
        const other = new DatabaseSync(file);
        other.exec('PRAGMA wal_checkpoint(TRUNCATE)');
        other.close();
      },
      end: () => statSync(`${file}-wal`).size,
    },
    async close() {
      await program.close();
      rmSync(folder, { recursive: true });
    },
  };
}

async function onPostgres(url) {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const program = await stored(postgresStore(pool));
  const position = async () =>
    Number((await pool.query("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS bytes")).rows[0].bytes);
  let start;
  return {
    ...program,
    written: {
      start: async () => {
        start = await position();
      },
      end: async () => (await position()) - start,
    },
    async close() {
      await program.close();
      await pool.end();
    },
  };
}
