// What an inbox and its server ask of the stores, on many questions and over time. Counted, never timed.
import { DatabaseSync } from 'node:sqlite';
import { type PostgresPool, postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import type { InterruptQuery, Store } from '../../src/runs/port/store.ts';
import { interruptsSql } from '../../src/stores/sql/list-query.ts';
import { SQLITE_DIALECT } from '../../src/stores/sqlite/dialect.ts';
import { sqliteSearchSql } from '../../src/stores/sqlite/search.ts';
import { searchWords } from '../../src/stores/rules/search-text.ts';
import { addition, creation, interrupt } from '../../src/testing/store-contract/check.ts';
import { temporaryFolder } from './folder.ts';
import { onServer, poolOn, type TestServer, testServer } from './postgres-server.ts';

const postgres = await testServer({ own: true });
const { freshDatabase } = postgres ?? ({} as TestServer);
const folder = temporaryFolder();
afterAll(() => folder.remove());
let files = 0;

/** What is asked for on a first page, with how much is found of 100,000 questions. */
const PAGES: readonly (readonly [Omit<InterruptQuery, 'limit'>, number])[] = [
  [{ search: 'customer' }, 50],
  [{ search: 'customer', order: 'newest' }, 50],
  [{ search: 'c' }, 50],
  [{ search: 'customer777' }, 50],
  [{ search: 'customer77777' }, 1],
  [{ search: 'rare' }, 5],
  [{ search: 'rare customer' }, 5],
  [{ search: 'nothing' }, 0],
  [{ search: 'customer nothing' }, 0],
  [{ search: 'customer', tool: 'nothing' }, 0],
  [{ search: 'customer', kind: 'question' }, 0],
  [{ search: 'customer', startedBy: 'few' }, 5],
  [{ search: 'customer', startedBy: 'many' }, 50],
  [{ startedBy: 'few' }, 5],
  [{ startedBy: 'few', order: 'newest' }, 5],
  [{ startedBy: 'many' }, 50],
  [{ startedBy: 'nobody' }, 0],
  [{ startedBy: 'few', settled: true }, 0],
];

describe.runIf(postgres)('on PostgreSQL', () => {
  test('a page of a search reads a little of 100,000 questions that wait', { timeout: 240_000 }, async () => {
    const pool = poolOn(await freshDatabase());
    await fillPostgres(pool, 100_000);
    let blocks = 0;
    const counting: PostgresPool = {
      query: async (text, values) => {
        if (!/^(SELECT|WITH)/.test(text)) return pool.query(text, values);
        const { rows } = await pool.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values);
        const { Plan: plan } = rows[0]['QUERY PLAN'][0];
        blocks += plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
        return pool.query(text, values);
      },
    };
    const store = postgresStore(counting);
    await store.prepareSearch();
    for (const [query, count] of [...PAGES, [{ search: 'customer', runId: 'run-77777' }, 1] as const]) {
      blocks = 0;
      const { items } = await store.listInterrupts({ ...query, limit: 50 });
      expect(items.length, JSON.stringify(query)).toBe(count);
      // The rows that are walked at most, the way to them, and the page. All of them are on more than 5,000.
      expect(blocks, JSON.stringify(query)).toBeLessThanOrEqual(1_500);
    }
    await store.close();
    await pool.end();
  });

  test('an index that was left half made is made anew', async () => {
    const url = await freshDatabase();
    const store = postgresStore(url);
    await store.prepareSearch();
    const words = "indexrelid = 'countersign_interrupt_words'::regclass";
    await onServer(url, `UPDATE pg_index SET indisvalid = false WHERE ${words}`);
    await Promise.all([store.prepareSearch(), postgresStore(url).prepareSearch()]);
    expect(await onServer(url, `SELECT indisvalid FROM pg_index WHERE ${words}`)).toEqual([{ indisvalid: true }]);
    await store.close();
  });

  test.each([
    ['with connections to give', (pool: pg.Pool): PostgresPool => pool],
    ['that only asks', (pool: pg.Pool): PostgresPool => ({ query: (text, values) => pool.query(text, values) })],
  ])('an index of words that an earlier version made is made anew, on a pool %s', async (_, on) => {
    const url = await freshDatabase();
    const pool = poolOn(url);
    const store = postgresStore(on(pool));
    await store.prepareSearch();
    await store.append(creation('run', { opened: [interrupt('a', 'run', { tool: 'pay', risk: 'high' })] }));
    await store.close();
    for (const text of OLDER_WORDS) await onServer(url, text);
    const later = postgresStore(on(pool));
    const found = async () => (await later.listInterrupts({ search: 'pay', risk: 'high', limit: 9 })).items.length;
    expect(await found()).toBe(1);
    await later.prepareSearch();
    expect(await found()).toBe(1);
    const [{ text }] = await onServer(url, `SELECT pg_get_indexdef('countersign_interrupt_words'::regclass) AS text`);
    expect(text).toContain('risk');
    await later.close();
    await pool.end();
  });

  test.each([1, 2, 3])('a pool of %i is left to others, whoever has a transaction open meanwhile', async (max) => {
    const url = await freshDatabase();
    const pool = poolOn(url, max);
    const store = postgresStore(pool);
    await store.migrate();
    const stop = store.watch(() => undefined);
    const reading = new pg.Client(url);
    await reading.connect();
    await reading.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM countersign_interrupt');
    const prepared = store.prepareSearch();
    await store.append(creation('run', { opened: [interrupt('a', 'run', { tool: 'pay' })] }));
    await prepared;
    await reading.end();
    stop();
    await store.close();
    await pool.end();
  });

  test.each(['a url', 'a pool'])('who closes the store of %s does not wait for others to end theirs', async (of) => {
    const url = await freshDatabase();
    const pool = poolOn(url, 5);
    const store = of === 'a url' ? postgresStore(url) : postgresStore(pool);
    await store.migrate();
    const reading = new pg.Client(url);
    await reading.connect();
    await reading.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM countersign_interrupt');
    const prepared = store.prepareSearch().catch((error: unknown) => error);
    const waits = "SELECT FROM pg_stat_activity WHERE wait_event = 'virtualxid' AND query LIKE 'CREATE INDEX%'";
    while ((await onServer(url, waits)).length === 0);
    await store.close();
    expect(await prepared).toMatchObject({ code: 'store-failed', message: expect.stringMatching(/was closed/) });
    await pool.end();
    await reading.end();
    const later = postgresStore(url);
    await later.prepareSearch();
    await later.close();
  });

  test('those who prepare it one by one and all at once do not wait for each other in a circle', async () => {
    const url = await freshDatabase();
    const pool = poolOn(url, 1);
    const [oneByOne, allAtOnce] = [postgresStore(url), postgresStore(pool)];
    await Promise.all([oneByOne.migrate(), allAtOnce.migrate()]);
    const reading = new pg.Client(url);
    await reading.connect();
    await reading.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM countersign_interrupt');
    const first = oneByOne.prepareSearch();
    const waits = "SELECT FROM pg_stat_activity WHERE wait_event = 'virtualxid' AND query LIKE 'CREATE INDEX%'";
    while ((await onServer(url, waits)).length === 0);
    const second = allAtOnce.prepareSearch();
    const asked = `SELECT FROM pg_stat_activity WHERE query LIKE 'DO $countersign$%advisory%' AND pid <> pg_backend_pid()`;
    while ((await onServer(url, asked)).length === 0);
    await reading.end();
    await Promise.all([first, second]);
    await Promise.all([oneByOne.close(), allAtOnce.close()]);
    await pool.end();
  });

  test('what is prepared needs no rights to change tables', async () => {
    const url = await freshDatabase();
    await postgresStore(url).prepareSearch();
    const [{ name }] = await onServer(url, 'SELECT current_schema() AS name');
    await onServer(
      url,
      `CREATE ROLE clerk_${name} LOGIN; GRANT USAGE ON SCHEMA ${name} TO clerk_${name};
       GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${name} TO clerk_${name}`,
    );
    const store = postgresStore(url.replace('//postgres@', `//clerk_${name}@`));
    await store.prepareSearch();
    await store.append(creation('run', { opened: [interrupt('a', 'run', { tool: 'pay' })] }));
    expect((await store.listInterrupts({ search: 'pay', limit: 9 })).items.length).toBe(1);
    expect(await store.notes.put('notes', 'key', 1)).toBe(true);
    expect(await store.notes.put('notes', 'key', 2)).toBe(true);
    await store.close();
  });

  outlive(() => freshDatabase(), postgresStore, onServer);
});

describe('on SQLite', () => {
  test('a search that looks at every question lets the rest of the process go on', async () => {
    const store = sqliteStore(':memory:');
    await Promise.all(
      Array.from({ length: 2_000 }, (_, index) => {
        const id = `run-${index}`;
        return store.append(creation(id, { status: 'waiting', opened: [interrupt(id, id, {})] }));
      }),
    );
    let turns = 0;
    let next = setImmediate(function turn() {
      turns += 1;
      next = setImmediate(turn);
    });
    expect((await store.listInterrupts({ search: 'nothing', limit: 50 })).items).toEqual([]);
    clearImmediate(next);
    expect(turns).toBeGreaterThan(2);
    await store.close();
  });

  test('each page of a search is read along an index, in its order', async () => {
    const path = `${folder.path}/${++files}.db`;
    const store = sqliteStore(path);
    await store.prepareSearch();
    await store.close();
    const database = new DatabaseSync(path);
    for (const [query] of PAGES) {
      const asked = { ...query, limit: 50 };
      const words = searchWords(query.search);
      const { text, values } =
        words.length === 0 ? interruptsSql(asked, SQLITE_DIALECT) : sqliteSearchSql(asked, words, SQLITE_DIALECT);
      const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values);
      const steps = plan.map(({ detail }) => String(detail)).join('\n');
      expect(steps, JSON.stringify(query)).not.toMatch(/TEMP B-TREE/);
      expect(steps).toMatch(words.length === 0 ? /countersign_interrupt_starter_/ : /^SCAN s VIRTUAL TABLE INDEX/);
      if (words.length > 0) expect(steps).toMatch(/SEARCH i USING INTEGER PRIMARY KEY/);
    }
    const since = 'SELECT tool FROM countersign_interrupt i WHERE i.settled_at IS NOT NULL AND i.settled_at >= 5';
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${since}`).all();
    expect(String(plan[0]?.detail)).toMatch(/countersign_interrupt_settled_at/);
    database.close();
  });

  const ask = async (place: string, text: string): Promise<readonly any[]> => {
    const database = new DatabaseSync(place);
    const rows = database.prepare(text).all();
    database.close();
    return rows;
  };
  outlive(async () => `${folder.path}/${++files}.db`, sqliteStore, ask);
});

/** What is still there, or not there any more, when another process looks. */
function outlive(
  freshPlace: () => Promise<string>,
  open: (place: string) => Store,
  ask: (place: string, text: string) => Promise<readonly any[]>,
): void {
  test('notes outlive the store that wrote them, with their versions', async () => {
    const place = await freshPlace();
    const first = open(place);
    await first.notes.put('tokens', 'a', { scopes: ['read'] });
    await first.notes.put('tokens', 'b', 1);
    await first.notes.remove('tokens', 'b');
    const before = await first.notes.get('tokens', 'a');
    await first.close();
    const second = open(place);
    expect(await second.notes.get('tokens', 'a')).toEqual(before);
    await second.notes.put('tokens', 'b', 1);
    const versions = (await second.notes.list('tokens', { limit: 9 })).items.map(({ version }) => version);
    expect(Math.min(...versions)).toBe(before?.version);
    expect(Math.max(...versions)).toBeGreaterThan((before?.version ?? 0) + 1);
    await second.close();
  });

  test('notes that have expired are removed by whoever writes next', async () => {
    const place = await freshPlace();
    const first = open(place);
    const now = await first.now();
    for (const key of ['a', 'b', 'c']) await first.notes.put('sessions', key, 1, { expiresAt: now - 1 });
    await first.notes.put('sessions', 'd', 1, { expiresAt: now + 600_000 });
    const rows = 'SELECT count(*) AS count FROM countersign_note';
    await first.close();
    const second = open(place);
    await second.notes.put('other', 'e', 1);
    expect(Number((await ask(place, rows))[0].count)).toBe(2);
    await second.close();
  });

  test('questions from before the store kept who started their runs have it too', async () => {
    const place = await freshPlace();
    const old = open(place);
    const create = { id: 'run', agent: 'agent', startedBy: 'ann' };
    await old.append(creation('run', { create, opened: [interrupt('a', 'run')] }));
    await old.append(creation('other', { opened: [interrupt('b', 'other')] }));
    await old.close();
    for (const text of [
      ...WITHOUT_REMINDERS,
      'DROP TABLE countersign_note',
      'ALTER TABLE countersign_interrupt DROP COLUMN started_by',
      'DELETE FROM countersign_migration WHERE version > 1',
    ]) {
      await ask(place, text);
    }
    const store = open(place);
    await store.append(addition('run', 1, { opened: [interrupt('c', 'run')] }));
    const { items } = await store.listInterrupts({ limit: 9 });
    expect(items.map(({ id, startedBy }) => [id, startedBy])).toEqual([
      ['a', 'ann'],
      ['b', null],
      ['c', 'ann'],
    ]);
    expect(await store.notes.put('notes', 'key', 1)).toBe(true);
    await store.close();
  });

  test('runs from before there was an index of those that are due are taken up', async () => {
    const place = await freshPlace();
    const old = open(place);
    await old.append(creation('first'));
    await old.append(creation('waits', { status: 'waiting' }));
    await old.append(creation('overdue', { status: 'waiting', wakeAt: 5 }));
    await old.close();
    for (const text of WITHOUT_DUE_INDEX) await ask(place, text);
    await ask(place, 'DELETE FROM countersign_migration WHERE version > 3');
    const store = open(place);
    expect(await store.due(9)).toEqual(['overdue', 'first']);
    await store.close();
  });

  test('questions from before there were reminders are reminded of', async () => {
    const place = await freshPlace();
    const old = open(place);
    const opened = [
      interrupt('a', 'run', { remindAt: 7 }),
      interrupt('b', 'run', { remindAt: 8 }),
      interrupt('c', 'run'),
    ];
    await old.append(creation('run', { opened, status: 'waiting' }));
    await old.append(addition('run', 1, { settled: [{ id: 'a', settlement: null }] }));
    await old.close();
    for (const text of [...WITHOUT_REMINDERS, 'DELETE FROM countersign_migration WHERE version > 2'])
      await ask(place, text);
    const store = open(place);
    const taken = await store.takeReminders(9, 60_000);
    expect(taken.map(({ interrupt: { id }, attempt }) => [id, attempt])).toEqual([['b', 1]]);
    expect(await store.takeReminders(9, 60_000)).toEqual([]);
    await store.close();
  });

  test('a process that prepared nothing keeps up what another has prepared', async () => {
    const place = await freshPlace();
    const first = open(place);
    const other = open(place);
    await other.append(creation('before', { opened: [interrupt('a', 'before', { tool: 'pay_first' })] }));
    await first.prepareSearch();
    await other.append(creation('after', { opened: [interrupt('b', 'after', { tool: 'pay_then' })] }));
    await other.append(addition('before', 1, { settled: [{ id: 'a', settlement: null }] }));
    await first.close();
    const second = open(place);
    for (const store of [other, second]) {
      const { items } = await store.listInterrupts({ search: 'pay', limit: 9 });
      expect(items.map(({ id }) => id)).toEqual(['b']);
    }
    await Promise.all([other.close(), second.close()]);
  });

  test('a question with more words than an index takes is written, and found by the first', async () => {
    const store = open(await freshPlace());
    await store.prepareSearch();
    const text = Array.from({ length: 300_000 }, (_, index) => `word${index}`).join(' ');
    const card = { part: { toolRequest: { input: { text, other: 'x'.repeat(10_000) } } } };
    await store.append(creation('run', { opened: [interrupt('a', 'run', { card })] }));
    expect((await store.listInterrupts({ search: 'word99', limit: 9 })).items.length).toBe(1);
    await store.close();
  });
}

/** Takes back what the fourth step of the tables has made. SQLite has had such an index from the beginning. */
const WITHOUT_DUE_INDEX = ['DROP INDEX IF EXISTS countersign_run_due_at'];

/** Takes back what the third step and those after it have made. */
const WITHOUT_REMINDERS = [
  ...WITHOUT_DUE_INDEX,
  'DROP INDEX countersign_interrupt_reminder',
  ...['reminder_due_at', 'reminder_attempts', 'reminded_at'].map(
    (column) => `ALTER TABLE countersign_interrupt DROP COLUMN ${column}`,
  ),
];

/** The index of words as it was at first, over a function of the same name that knew neither kind nor risk. */
const OLDER_WORDS = [
  'DROP INDEX countersign_interrupt_words',
  'DROP FUNCTION countersign_words',
  `CREATE FUNCTION countersign_words(agent text, tool text, labels text[], started_by text, card text)
     RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$ SELECT strip(to_tsvector('pg_catalog.simple'::regconfig, tool)) $$`,
  `CREATE INDEX countersign_interrupt_words ON countersign_interrupt
     USING gin (countersign_words(agent, tool, labels, started_by, card)) WHERE settled_at IS NULL`,
];

/** Every third is of one person, a few of another. One of them has its run. */
async function fillPostgres(pool: PostgresPool, count: number): Promise<void> {
  const store = postgresStore(pool);
  await store.migrate();
  await pool.query(
    `INSERT INTO countersign_interrupt (created_at, id, run_id, agent, tool, kind, digest, card, started_by)
      SELECT n, 'i-' || n, 'run-' || n, 'agent', 'tool', 'approval', 'digest',
        json_build_object('part', json_build_object('toolRequest', json_build_object('input', 'customer' || n ||
          CASE n % 20000 WHEN 77 THEN ' rare' ELSE '' END)))::text,
        CASE n % 20000 WHEN 77 THEN 'few' ELSE CASE n % 3 WHEN 0 THEN 'many' END END
      FROM generate_series(1, ${count}) n`,
    [],
  );
  await pool.query(
    `WITH run AS (
      INSERT INTO countersign_run (created_at, id, agent, status, outcome, updated_at, version, hash)
        VALUES (77777, 'run-77777', 'agent', 'waiting', 'null', 77777, 1, 'hash') RETURNING seq
    ) INSERT INTO countersign_event (run_seq, version, events, opened) SELECT seq, 1, '[]', '["i-77777"]' FROM run`,
    [],
  );
}
