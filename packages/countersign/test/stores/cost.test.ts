// The cost of the stores: statements, bytes in the log, and how lists are read. Counted, never timed.

import { DatabaseSync } from 'node:sqlite';
import { countersign } from 'countersign';
import { type PostgresPool, postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import { internalsOf } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import type { RequestQuery, RunStatus } from '../../src/runs/port/store.ts';
import { tablesIn } from '../../src/stores/postgres/schema.ts';
import { postgresStatements } from '../../src/stores/postgres/statements.ts';
import { requestsSql, runsSql } from '../../src/stores/sql/list-query.ts';
import { SQL, SQLITE_DIALECT } from '../../src/stores/sqlite/statements.ts';
import { addition, creation, request, stepDone } from '../../src/testing/store-contract/check.ts';
import { temporaryFolder } from './folder.ts';
import { onServer, poolOn, type TestServer, testServer } from './postgres-server.ts';

const postgres = await testServer({ own: true });
const { freshDatabase, server } = postgres ?? ({} as TestServer);

/** For each of the fifty items on a page: its row, and the path to it in an index. */
const MOST_BLOCKS = 50 * 5;

/** The queries of a first page, and of a later one. */
const FIRST_PAGES: readonly Omit<RequestQuery, 'limit'>[] = [
  {},
  { order: 'newest' },
  { agent: 'agent', tool: 'tool', kind: 'approval' },
  { label: 'common' },
  { label: 'common', order: 'newest' },
  { search: 'ACME' },
  { search: 'acme pay', order: 'newest' },
  { runId: 'run-500' },
  { createdAfter: 900 },
  { after: Buffer.from('[700,700]').toString('base64url') },
  { settled: true },
  { settled: true, outcome: 'approved' },
  { settled: true, outcome: 'edited', order: 'newest' },
  { settled: true, outcome: 'expired', tool: 'tool' },
  { outcome: 'rejected' },
];

/** A run has few requests, whatever the other filters. */
const OF_A_RUN: readonly Omit<RequestQuery, 'limit'>[] = [
  { runId: 'run-500' },
  { runId: 'run-500', order: 'newest' },
  { runId: 'run-500', label: 'common' },
  { runId: 'run-500', startedBy: 'ann' },
  { runId: 'run-500', after: Buffer.from('[300,300]').toString('base64url') },
  { runId: 'run-500', settled: true },
  { runId: 'run-500', settled: true, label: 'common', startedBy: 'ann' },
];

describe.runIf(postgres)('on PostgreSQL', () => {
  test('an append, a read and a claim take one statement each, and concurrent ones take fewer', async () => {
    const pool = poolOn(await freshDatabase());
    let statements = 0;
    const counting: PostgresPool = {
      query: (text, values) => {
        statements += 1;
        return pool.query(text, values);
      },
    };
    const store = postgresStore(counting);
    await store.migrate();
    const one = async (call: () => Promise<unknown>): Promise<void> => {
      const before = statements;
      await call();
      expect(statements - before).toBe(1);
    };
    const claim = { how: 'take', token: 'me', leaseMs: 60_000 } as const;
    const opened = ['a', 'b', 'c'].map((id) => request(id, 'run', { labels: ['red'] }));
    await one(() => store.append(creation('run', { claim, opened })));
    await one(() => store.append(addition('run', 1, { settled: [{ id: 'a', settlement: 1 }] })));
    const settled = ['b', 'c'].map((id) => ({ id, settlement: 1 }));
    await one(() => store.append(addition('run', 2, { settled, claim: { ...claim, how: 'release' } })));
    await one(() => store.read('run'));
    await one(() => store.claim('run', 'me', 60_000));
    await one(() => store.renew('run', 'me', 60_000));
    await one(() => store.release('run', 'me'));
    await one(() => store.request('a'));
    await one(() => store.listRequests({ limit: 5 }));
    await one(() => store.takeUntold?.(5, 60_000) ?? Promise.reject());
    await one(() => store.told?.('a', 1) ?? Promise.reject());
    await store.due(5);
    await one(() => store.due(5));
    await one(() => store.queue());
    const many = Array.from({ length: 40 }, (_, index) => `many-${index}`);
    const before = statements;
    await Promise.all(many.map((runId) => store.append(creation(runId))));
    await Promise.all(many.map((runId) => store.read(runId)));
    expect(statements - before).toBeLessThanOrEqual(6);
    await store.close();
    await pool.end();
  });

  test('the statements of a round trip are planned only at first', async () => {
    const url = await freshDatabase();
    const pool = poolOn(url, 1);
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'user' ? { calls: [{ name: 'pay' }] } : 'Paid.',
    );
    const ai = countersign({ model, store: postgresStore(pool), retry: false });
    const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, () => 'paid');
    const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
    const rounds = 20;
    for (let round = 0; round < rounds; round += 1) {
      const { id } = await clerk.start('Pay.');
      const { pending } = await internalsOf(ai.runs).rested(id);
      await ai.runs.decide(pending[0] ?? '', 'approve');
      expect(await internalsOf(ai.runs).rested(id)).toMatchObject({ status: 'done', text: 'Paid.' });
    }
    // PostgreSQL plans a prepared statement five times at most, unless it expects a plan for the values to be better.
    // How often a statement ran depends on the speed of the machine: a claim is renewed in time.
    const counts = 'SELECT custom_plans::int AS planned FROM pg_prepared_statements';
    const { rows } = await pool.query(`${counts} WHERE custom_plans + generic_plans > ${rounds / 2}`);
    expect(rows.length).toBeGreaterThan(2);
    for (const row of rows) expect(row).toEqual({ planned: 5 });
    await ai.runs.store.close();
    await pool.end();
  });

  test('an append writes as many bytes to a long run as to a short one, and rarely to an index of the runs', async () => {
    const url = await freshDatabase();
    const store = postgresStore({ url, poolMax: 1 });
    const long = Array.from({ length: 5_000 }, (_, index) => stepDone(`${index}`, 'x'.repeat(200)));
    await store.append(creation('short'));
    await store.append(creation('long', { events: long }));
    const bytesOf = async (runId: string, version: number, statuses: readonly RunStatus[]): Promise<number> => {
      const all: number[] = [];
      for (let index = 0; index < 9; index += 1) {
        const before = await position(url);
        await store.append(addition(runId, version + index, { status: statuses[index % 2] ?? 'running' }));
        all.push((await position(url)) - before);
      }
      // The server sometimes cleans up a page, which does not count here.
      return Math.min(...all);
    };
    const goingOn = ['running', 'running'] as const;
    const [short, ofLong] = [await bytesOf('short', 1, goingOn), await bytesOf('long', 5_000, goingOn)];
    expect(ofLong).toBeLessThanOrEqual(short * 1.1);
    expect(short).toBeLessThan(700);
    // Runs that become due, or stop being due, gain or lose an index entry.
    const pausing = ['waiting', 'running'] as const;
    const [shortPausing, longPausing] = [await bytesOf('short', 10, pausing), await bytesOf('long', 5_009, pausing)];
    expect(longPausing).toBeLessThanOrEqual(shortPausing * 1.1);
    expect(shortPausing).toBeLessThan(1_000);
    // The server publishes a connection's statistics when it ends.
    await store.close();
    const counts = `SELECT n_tup_upd::int AS updated, n_tup_hot_upd::int AS hot FROM pg_stat_user_tables
      WHERE relname = 'countersign_run' AND schemaname = current_schema()`;
    await expect.poll(() => onServer(url, counts)).toEqual([{ updated: 36, hot: 18 }]);
  });

  test('untold questions among many are found without a table scan', async () => {
    // All of them are untold, as after a long time without channels.
    const url = await filledDatabase();
    const { takeUntold, told } = postgresStatements(tablesIn(undefined));
    for (const analysed of [false, true]) {
      if (analysed) await onServer(url, 'ANALYZE');
      const blocks = await blocksRead(url, takeUntold.text, [5, 60_000]);
      expect(blocks, JSON.stringify({ analysed })).toBeLessThanOrEqual(5 * 40);
      expect(await blocksRead(url, told.text, ['i-500', 1]), JSON.stringify({ analysed })).toBeLessThanOrEqual(100);
      // A few untold ones among many that people know of.
      await onServer(url, "UPDATE countersign_request SET tell_at = NULL WHERE id NOT LIKE 'i-%00'");
    }
  });

  test('the queue is counted without a look at runs that wait or have ended', async () => {
    const url = await filledDatabase();
    await onServer(url, 'UPDATE countersign_run SET due_at = 1 WHERE id IN (SELECT id FROM countersign_run LIMIT 10)');
    const { queue } = postgresStatements(tablesIn(undefined));
    for (const analysed of [false, true]) {
      if (analysed) await onServer(url, 'VACUUM ANALYZE');
      expect(await blocksRead(url, queue.text, []), JSON.stringify({ analysed })).toBeLessThanOrEqual(100);
    }
  });

  test("questions are found by their run and by their id, whatever the planner's statistics say", async () => {
    const url = await filledDatabase();
    const { dialect, request: byId } = postgresStatements(tablesIn(undefined));
    const look = async (known: string): Promise<void> => {
      for (const query of OF_A_RUN) {
        const { text, values } = requestsSql({ ...query, limit: 50 }, dialect);
        const blocks = await blocksRead(url, text, values);
        expect(blocks, JSON.stringify({ known, query })).toBeLessThanOrEqual(30);
      }
      expect(await blocksRead(url, byId.text, ['i-500']), known).toBeLessThanOrEqual(30);
    };
    await look('all');
    // These statistics come from a table without pending, or without settled, questions.
    for (const unknown of ['settled_at IS NULL', 'settled_at IS NOT NULL']) {
      await onServer(
        url,
        `CREATE TABLE kept AS SELECT * FROM countersign_request WHERE ${unknown};
         DELETE FROM countersign_request WHERE ${unknown};
         ANALYZE countersign_request;
         INSERT INTO countersign_request OVERRIDING SYSTEM VALUE SELECT * FROM kept;
         DROP TABLE kept`,
      );
      await look(`all but ${unknown}`);
    }
  });

  test('the requests of a person are found without a look at those of others', async () => {
    const url = await filledDatabase();
    const { dialect } = postgresStatements(tablesIn(undefined));
    for (const analysed of [false, true]) {
      if (analysed) await onServer(url, 'ANALYZE');
      for (const settled of [false, true])
        for (const people of [['ann'], ['nobody']]) {
          const { text, values } = requestsSql({ deciders: { ...ANN, people }, settled, limit: 50 }, dialect);
          const blocks = await blocksRead(url, text, values);
          expect(blocks, JSON.stringify({ analysed, settled, people })).toBeLessThanOrEqual(300);
        }
    }
  });

  test('deleting one of many runs needs no table scan', async () => {
    const url = await filledDatabase();
    const { text } = postgresStatements(tablesIn(undefined)).delete;
    const planned = async (): Promise<string> => {
      const [row] = await onServer(url, `EXPLAIN (FORMAT JSON) ${text}`, ['run-500', 1]);
      return JSON.stringify(row['QUERY PLAN']);
    };
    expect(await planned()).not.toMatch(/"Seq Scan","[^}]*countersign_(run|event|request)/);
    await onServer(url, 'ANALYZE');
    expect(await planned()).not.toMatch(/"Seq Scan","[^}]*countersign_(run|event|request)/);
  });

  test('statements planned on empty tables use the indexes when the tables are full', async () => {
    const url = await freshDatabase();
    const store = postgresStore({ url, poolMax: 2 });
    const drive = async (runId: string): Promise<void> => {
      const opened = ['a', 'b'].map((id) => request(`${runId}-${id}`, runId, { labels: ['red'] }));
      await store.append(creation(runId, { opened, status: 'waiting' }));
      await store.read(runId);
      await store.append(addition(runId, 1, { settled: [{ id: `${runId}-a`, settlement: 1 }] }));
      await store.append(addition(runId, 2, { settled: [{ id: `${runId}-b`, settlement: 1 }], status: 'done' }));
      await store.claim(runId, 'me', 1_000);
    };
    const rounds = async (name: string): Promise<void> => {
      for (let round = 0; round < 10; round += 1) {
        await drive(`${name}-${round}`);
        await Promise.all(Array.from({ length: 8 }, (_, index) => drive(`${name}-${round}-${index}`)));
      }
    };
    await rounds('first');
    await fillPostgres(url, 20_000);
    await rounds('second');
    await store.close();
    const tables = ['run', 'event', 'request'].map((name) => `'countersign_${name}'`);
    const counts = `SELECT sum(n_tup_ins)::int > 60000 AS counted, max(seq_tup_read)::int AS read
      FROM pg_stat_user_tables WHERE schemaname = current_schema() AND relname IN (${tables.join(', ')})`;
    await expect.poll(async () => (await onServer(url, counts))[0].counted).toBe(true);
    // Filling the tables scans them once or twice.
    expect((await onServer(url, counts))[0].read).toBeLessThan(100_000);
  });

  test('the first event of a long run costs no more than the first event of a short one', async () => {
    const url = await freshDatabase();
    await fillPostgres(url, 100);
    await onServer(
      url,
      `INSERT INTO countersign_event (run_seq, version, events)
        SELECT 1, n, '["' || repeat('x', 500) || '"]' FROM generate_series(2, 20000) n`,
    );
    const { text } = postgresStatements(tablesIn(undefined)).read;
    for (const analysed of [false, true]) {
      if (analysed) await onServer(url, 'ANALYZE');
      expect(await blocksRead(url, text, ['run-1', 0, 1])).toBeLessThanOrEqual(10);
      expect(await blocksRead(url, text, ['run-1', 10_000, 1])).toBeLessThanOrEqual(10);
    }
  });

  test('a first page reads as little of 100,000 pending requests as of 1,000', { timeout: 180_000 }, async () => {
    const { dialect } = postgresStatements(tablesIn(undefined));
    const lists = [
      ...FIRST_PAGES.map((query) => requestsSql({ ...query, limit: 50 }, dialect)),
      runsSql({ limit: 50 }, dialect),
      runsSql({ status: 'waiting', agent: 'agent', limit: 50 }, dialect),
    ];
    for (const count of [1_000, 100_000]) {
      const url = await freshDatabase();
      await fillPostgres(url, count);
      for (const analysed of [false, true]) {
        if (analysed) await onServer(url, 'ANALYZE');
        for (const { text, values } of lists) {
          const blocks = await blocksRead(url, text, values);
          expect(blocks, JSON.stringify({ count, analysed, text, values })).toBeLessThanOrEqual(MOST_BLOCKS);
        }
      }
    }
  });
});

/** Finds one of 500 in `fillPostgres`. */
const ANN = { people: ['ann'], roles: [], startedBy: 'ann' };

test('on SQLite the first of many requests for a person are found without a look at the others', async () => {
  const folder = temporaryFolder();
  const path = `${folder.path}/runs.db`;
  const store = sqliteStore(path);
  const deciders = (index: number) => ({ people: [], roles: [index % 2 === 0 ? 'even' : 'odd'] });
  const opened = Array.from({ length: 3_000 }, (_, index) =>
    request(`i${index}`, 'run', { createdAt: index, deciders: deciders(index) }),
  );
  await store.append(creation('run', { status: 'waiting', opened }));
  const roles = ['even', 'odd', 'none'];
  const found = async (order: 'oldest' | 'newest', limit: number) =>
    (await store.listRequests({ deciders: { people: ['ann'], roles }, order, limit })).items.map(({ id }) => id);
  expect(await found('oldest', 3)).toEqual(['i0', 'i1', 'i2']);
  expect(await found('newest', 2)).toEqual(['i2999', 'i2998']);
  await store.close();
  const database = new DatabaseSync(path);
  const key = (name: string) =>
    `SELECT created_at, seq FROM countersign_decider i WHERE i.key = '${name}' AND i.settled = 0`;
  const plan = database
    .prepare(`EXPLAIN QUERY PLAN ${key('a')} UNION ${key('b')} ORDER BY 1 DESC, 2 DESC LIMIT 1`)
    .all();
  const steps = plan.map(({ detail }) => String(detail)).join('\n');
  expect(steps).toMatch(/MERGE \(UNION\)/);
  expect(steps).not.toMatch(/TEMP B-TREE|SCAN/);
  database.close();
  folder.remove();
});

test('on SQLite each page is read along an index, in its order', async () => {
  const folder = temporaryFolder();
  const path = `${folder.path}/runs.db`;
  const store = sqliteStore(path);
  await store.migrate();
  await store.close();
  const database = new DatabaseSync(path);
  for (const query of FIRST_PAGES) {
    const { text, values } = requestsSql({ ...query, limit: 50 }, SQLITE_DIALECT);
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values);
    const steps = plan.map(({ detail }) => String(detail)).join('\n');
    // The requests of one run are few, and sorted.
    if (query.runId === undefined) expect(steps, JSON.stringify(query)).not.toMatch(/TEMP B-TREE/);
    expect(steps, JSON.stringify(query)).toMatch(/USING (COVERING )?(INDEX|PRIMARY KEY)/);
  }
  for (const settled of [false, true]) {
    const { text, values } = requestsSql({ deciders: ANN, settled, limit: 50 }, SQLITE_DIALECT);
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values);
    const steps = plan.map(({ detail }) => String(detail)).join('\n');
    expect(steps).toMatch(/SEARCH d USING PRIMARY KEY \(key=\? AND settled=\?/);
    expect(steps).not.toMatch(/SCAN [id]\b/);
  }
  for (const query of OF_A_RUN) {
    const { text, values } = requestsSql({ ...query, limit: 50 }, SQLITE_DIALECT);
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values);
    expect(plan[0]?.detail, JSON.stringify(query)).toMatch(/USING INDEX countersign_request_run /);
  }
  const untold = database.prepare(`EXPLAIN QUERY PLAN ${SQL.untold}`).all();
  const used = expect.stringMatching(/USING (COVERING )?INDEX countersign_request_untold/);
  expect(untold.map(({ detail }) => detail)).toEqual([used]);
  database.close();
  folder.remove();
});

/** The number of bytes written to the log so far. */
async function position(url: string): Promise<number> {
  const text = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS bytes";
  return (await onServer(url, text))[0].bytes;
}

/** Filling a database takes seconds, a copy of it none. */
let filled: Promise<string> | undefined;
let copies = 0;

/** A database of its own, with 20,000 runs as `fillPostgres` leaves them. */
async function filledDatabase(): Promise<string> {
  const fill = async () => {
    await onServer(server.url(), 'CREATE DATABASE filled');
    await fillPostgres(server.url('filled'), 20_000);
    return 'filled';
  };
  filled ??= fill();
  const copy = `copy_${++copies}`;
  await onServer(server.url(), `CREATE DATABASE ${copy} TEMPLATE ${await filled}`);
  return server.url(copy);
}

/** Inserts this many runs, each with a pending and an older settled request. */
async function fillPostgres(url: string, count: number): Promise<void> {
  const store = postgresStore(url);
  await store.migrate();
  await store.close();
  const columns =
    'created_at, id, run_id, agent, tool, kind, labels, digest, search_text, card, settled_at, outcome, edited, expired, deciders';
  await onServer(
    url,
    `
    INSERT INTO countersign_run (created_at, id, agent, status, outcome, updated_at, version, hash)
      SELECT n, 'run-' || n, 'agent', 'waiting', 'null', n, 1, 'hash' FROM generate_series(1, ${count}) n;
    INSERT INTO countersign_event (run_seq, version, events, opened)
      SELECT seq, 1, '[]', ARRAY['i-' || created_at, 's-' || created_at] FROM countersign_run
      WHERE hash = 'hash';
    INSERT INTO countersign_request (${columns})
      SELECT n, 'i-' || n, 'run-' || n, 'agent', 'tool', 'approval', ARRAY['common'], 'digest', 'pay acme',
        repeat('x', 100), NULL, NULL, NULL, NULL,
        ARRAY['r:finance', CASE WHEN n % 500 = 0 THEN 'p:ann' ELSE 'p:ben' END]
      FROM generate_series(1, ${count}) n;
    INSERT INTO countersign_request (${columns})
      SELECT created_at - ${count}, 's-' || created_at, run_id, agent, tool, kind, labels, digest, search_text, card, 0,
        'approved', 1, 1, deciders
      FROM countersign_request WHERE digest = 'digest'`,
  );
}

/** Pages of tables and indexes that the statement read. */
async function blocksRead(url: string, text: string, values: readonly unknown[]): Promise<number> {
  const [row] = await onServer(url, `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, [...values]);
  const { Plan: plan } = row['QUERY PLAN'][0];
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}
