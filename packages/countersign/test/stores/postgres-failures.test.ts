// PostgreSQL that goes away and comes back, or rejects requests: clear errors, no partial writes, and work continues.
import { spawnSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { ProviderError } from 'countersign';
import { postgresStore } from 'countersign/postgres';
import pg from 'pg';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Store } from '../../src/runs/port/store.ts';
import { postgresFailure } from '../../src/stores/postgres/failure.ts';
import { MIGRATIONS, migratePostgres, tablesIn } from '../../src/stores/postgres/schema.ts';
import { addition, creation, request, stepDone } from '../../src/testing/store-contract/check.ts';
import { onServer, poolOn, type TestServer, testServer } from './postgres-server.ts';

const postgres = await testServer({ own: true });
const { server, freshDatabase } = postgres ?? ({} as TestServer);

describe.runIf(postgres)('a server that crashes', () => {
  test('in the middle of the work loses nothing that was acknowledged and keeps no partial write', {
    timeout: 60_000,
  }, async () => {
    const store = postgresStore({ url: await freshDatabase(), poolMax: 6 });
    await store.migrate();
    const stop = new AbortController();
    const failures: unknown[] = [];
    const runs = Array.from({ length: 8 }, (_, index) => keepAppending(store, `run-${index}`, stop.signal, failures));
    for (let crashes = 0; crashes < 3; crashes += 1) {
      const before = failures.length;
      await progress(store);
      await server.crash();
      await until(() => failures.length > before);
      await server.start();
      await progress(store);
    }
    stop.abort();
    const acknowledged = await Promise.all(runs);
    for (const failure of failures) expect(failure).toMatchObject({ code: 'store-failed', retryable: true });
    for (const [index, version] of acknowledged.entries()) {
      const loaded = await store.read(`run-${index}`);
      expect(loaded?.run.version).toBeGreaterThanOrEqual(version);
      expect(loaded?.events.length).toBe(loaded?.run.version);
      expect((loaded?.run.version ?? 0) % 3).toBe(0);
      const { items } = await store.listRequests({ runId: `run-${index}`, limit: 100_000 });
      expect(items.length).toBe((loaded?.run.version ?? 0) / 3);
    }
    await store.close();
  });

  test('does not forget which runs are due', async () => {
    const store = postgresStore(await freshDatabase());
    const now = await store.now();
    await store.append(creation('running'));
    await store.append(creation('woken', { status: 'waiting', wakeAt: now - 60_000 }));
    await store.append(creation('asleep', { status: 'waiting', wakeAt: now + 600_000 }));
    await store.append(creation('done', { status: 'done' }));
    expect(await store.due(10)).toEqual(['woken', 'running']);
    await server.crash();
    await server.start();
    await whenBack(() => store.append(creation('after', { status: 'waiting', wakeAt: now - 30_000 })));
    expect(await store.due(10)).toEqual(['woken', 'after', 'running']);
    await store.append(addition('woken', 1, { status: 'done' }));
    expect(await store.due(10)).toEqual(['after', 'running']);
    await store.close();
  });

  test('does not end a process whose pool has no error listener', async () => {
    const pool = new pg.Pool({ connectionString: await freshDatabase() });
    const [store] = [postgresStore({ pool, schema: 'one' }), postgresStore(pool)];
    expect(pool.listenerCount('error')).toBe(1);
    await Promise.all([store.append(creation('one')), store.append(creation('two')), store.due(1)]);
    await server.crash();
    await until(() => pool.totalCount === 0);
    await server.start();
    await whenBack(() => store.append(creation('after')));
    await store.close();
    await pool.end();
  });

  test('is followed by notifications to watchers once it is back', async () => {
    const url = await freshDatabase();
    const [watching, writing] = [postgresStore(url), postgresStore(url)];
    const heard = new Set<string>();
    const stop = watching.watch((runId) => heard.add(runId));
    await writing.append(creation('before'));
    await until(() => heard.has('before'));
    await server.crash();
    await server.start();
    await whenBack(() => writing.append(creation('after')));
    await until(() => heard.has('after'));
    stop();
    await Promise.all([watching.close(), writing.close()]);
  });
});

describe.runIf(postgres)('a connection', () => {
  test('that is cut during an append fails and is not retried automatically', async () => {
    const url = await freshDatabase();
    // The pool has no other error listener: a lost connection must not end the process.
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    const store = postgresStore(pool);
    await store.append(creation('run'));
    const lock = new pg.Client(url);
    await lock.connect();
    await lock.query("BEGIN; SELECT FROM countersign_run WHERE id = 'run' FOR UPDATE");
    const append = store.append(addition('run', 1)).catch((error: unknown) => error);
    const waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'WITH given%'";
    await until(async () => (await onServer(server.url(), waiting)).length === 1);
    await onServer(server.url(), `SELECT pg_terminate_backend(pid) FROM (${waiting}) w`);
    expect(await append).toMatchObject({ code: 'store-failed', retryable: true });
    await lock.query('COMMIT');
    await lock.end();
    expect((await store.read('run'))?.run.version).toBe(1);
    await store.append(addition('run', 1));
    await store.close();
    await pool.end();
  });

  test('that is lost between two statements is replaced', async () => {
    const store = postgresStore({ url: `${await freshDatabase()}&application_name=lost`, poolMax: 1 });
    await store.append(creation('run'));
    const its = "FROM pg_stat_activity WHERE application_name = 'lost'";
    await onServer(server.url(), `SELECT pg_terminate_backend(pid) ${its}`);
    await until(async () => (await onServer(server.url(), `SELECT ${its}`)).length === 0);
    // Waits until the process has noticed.
    await delay(200);
    await store.append(addition('run', 1));
    await store.close();
  });

  test.each(['own', 'shared'])('that leads to a standby is dropped (%s pool)', async (whose) => {
    const name = `standby_${whose}`;
    await onServer(server.url(), `CREATE DATABASE ${name}`);
    const url = server.url(name);
    const first = postgresStore(url);
    await first.migrate();
    await first.close();
    await onServer(server.url(), `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    const store = postgresStore(whose === 'shared' ? pool : { url, poolMax: 1 });
    const refused = { code: 'store-failed', retryable: true, message: expect.stringMatching(/It is a standby, or/) };
    await store.now();
    // New connections reach the primary from now on. Older connections do not.
    await onServer(server.url(), `ALTER DATABASE ${name} RESET default_transaction_read_only`);
    await expect(store.append(creation('run'))).rejects.toMatchObject(refused);
    await store.append(creation('run'));
    await store.close();
    await pool.end();
  });

  test('that is the only one serves all waiting calls, one after the other', async () => {
    const store = postgresStore({ url: await freshDatabase(), poolMax: 1 });
    await store.append(creation('run'));
    // Calls do not wait for the idle timeout: 30 of them would exceed the connection timeout.
    await Promise.all(Array.from({ length: 30 }, () => store.listRuns({ limit: 9 })));
    await store.close();
  });

  test('that cannot be opened gives an error, and the store works once it can be opened', async () => {
    const store = postgresStore(await freshDatabase());
    await server.crash();
    const failure = await store.append(creation('run')).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'store-failed', retryable: true });
    expect((failure as Error).message).toMatch(/Try again when it can be reached/);
    await server.start();
    await store.append(creation('run'));
    const closedAt = performance.now();
    await store.close();
    // Closing does not wait for the lost connection.
    expect(performance.now() - closedAt).toBeLessThan(9_000);
  });

  test.each([
    ['to a database that is not there', () => server.url('nowhere'), /"nowhere" does not exist.*Create the database/],
    ['of a user that is not there', () => server.url().replace('postgres@', 'nobody@'), /Correct the user/],
  ])('%s is not retryable', async (_, url, says) => {
    const failure = await postgresStore(url())
      .migrate()
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ProviderError);
    expect(failure).toMatchObject({ code: 'store-failed', retryable: false });
    expect((failure as Error).message).toMatch(says);
  });
});

test.each([
  ['a password that is missing', new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string')],
  ['a mistake in a type', new TypeError('it is no function')],
  ['a number out of range', new RangeError('the array is too long')],
])('%s is not retryable', (what, error) => {
  const failure = postgresFailure(error);
  expect(failure).toMatchObject({ code: 'store-failed', retryable: false });
  expect(failure.message).toMatch(what.includes('password') ? /Correct the user or the password/ : /See the cause/);
});

test.each([
  Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
  new Error('Connection terminated unexpectedly'),
  new Error('timeout exceeded when trying to connect'),
  Object.assign(new Error('write CONNECTION_CLOSED'), { code: 'CONNECTION_CLOSED' }),
  Object.assign(new Error('terminating connection due to transaction timeout'), { code: '25P04' }),
  Object.assign(new Error('terminating connection due to idle-session timeout'), { code: '57P05' }),
])('a lost connection is retryable: %s', (error) => {
  expect(postgresFailure(error)).toMatchObject({ code: 'store-failed', retryable: true });
});

test.each([
  ['57014', 'canceling statement due to statement timeout', /raise the timeout/],
  ['3F000', 'no schema has been selected to create in', /Set `schema`/],
])('a failure with the code %s says how to fix it', (code, said, advice) => {
  expect(postgresFailure(Object.assign(new Error(said), { code })).message).toMatch(advice);
});

test('a password with characters that an address cannot contain gives advice without showing the password', async () => {
  const failure = await postgresStore('postgres://ann:top/secret@127.0.0.1:1/runs')
    .migrate()
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'store-failed', retryable: false, message: expect.stringMatching(/%2F/) });
  expect(inspect(failure, { depth: 9 })).not.toContain('secret');
});

test('an address with several hosts is rejected: it must have one host', async () => {
  const migrating = postgresStore('postgres://ann@127.0.0.1:1,127.0.0.1:2/runs').migrate();
  await expect(migrating).rejects.toThrow(/Correct the address: it must have one host/);
});

test('a server that accepts no writes is reported as a possible standby', () => {
  const error = Object.assign(new Error('cannot execute UPDATE in a read-only transaction'), { code: '25006' });
  expect(postgresFailure(error)).toMatchObject({
    retryable: true,
    message: expect.stringMatching(/It is a standby, or/),
  });
});

describe.runIf(postgres)('appends that are too long together', () => {
  test('are sent one at a time', async () => {
    const pool = poolOn(await freshDatabase(), 2);
    const store = postgresStore({
      query: async (text, values) => {
        if (JSON.stringify(values).length > 100_000) throw new RangeError('Invalid string length');
        return pool.query(text, values);
      },
    });
    await store.append(creation('first'));
    const events = (size: number) => ({ events: [stepDone('step', 'x'.repeat(size))] });
    const appends = [
      ['a', 60_000],
      ['b', 60_000],
      ['c', 1],
      ['much', 120_000],
    ] as const;
    const results = await Promise.allSettled(appends.map(([id, size]) => store.append(creation(id, events(size)))));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
    await store.close();
    await pool.end();
  });
});

describe.runIf(postgres)('a store that is closed', () => {
  test('during calls settles every call', async () => {
    const store = postgresStore({ url: await freshDatabase(), poolMax: 2 });
    await store.append(creation('run'));
    const calls = Promise.allSettled([
      ...Array.from({ length: 20 }, () => store.listRuns({ limit: 9 })),
      ...Array.from({ length: 20 }, (_, index) => store.append(creation(`new-${index}`))),
      ...Array.from({ length: 20 }, () => store.read('run')),
      store.notes.put('notes', 'key', 1),
    ]);
    await Promise.all([store.close(), store.close()]);
    for (const result of await calls) if (result.status === 'rejected') expectClosed(result.reason);
    await store.close();
    expectClosed(await store.read('run').catch((error: unknown) => error));
  });

  test('while it opens rejects the waiting calls and leaves no connection', {
    timeout: 20_000,
  }, async () => {
    const store = postgresStore(`${await freshDatabase()}&application_name=opening`);
    const calls = Promise.allSettled([store.append(creation('run')), store.listRuns({ limit: 9 }), store.migrate()]);
    await store.close();
    for (const result of await calls) if (result.status === 'rejected') expectClosed(result.reason);
    const open = () => onServer(server.url(), "SELECT FROM pg_stat_activity WHERE application_name = 'opening'");
    await expect.poll(open, { timeout: 15_000 }).toEqual([]);
  });

  test('on a pool that the caller ends next settles every call', async () => {
    const pool = poolOn(await freshDatabase(), 2);
    const store = postgresStore(pool);
    await store.append(creation('run'));
    const calls = Promise.allSettled([
      ...Array.from({ length: 20 }, () => store.listRuns({ limit: 9 })),
      ...Array.from({ length: 20 }, (_, index) => store.append(creation(`new-${index}`))),
      ...Array.from({ length: 20 }, () => store.read('run')),
    ]);
    await store.close();
    await pool.end();
    for (const result of await calls) if (result.status === 'rejected') expectClosed(result.reason);
  });

  test('in a process with nothing else to do is closed before the process ends', async () => {
    const child = fileURLToPath(new URL('./closing-child.ts', import.meta.url));
    const { stdout, stderr, status } = spawnSync(process.execPath, [child, await freshDatabase()], {
      encoding: 'utf8',
      timeout: 40_000,
    });
    expect({ stdout, status }, stderr).toEqual({ stdout: 'closed\n', status: 0 });
  });

  test('does not wait for a connection that never becomes free', async () => {
    const pool = poolOn(await freshDatabase(), 2);
    const store = postgresStore(pool);
    await store.append(creation('run'));
    const taken = [await pool.connect(), await pool.connect()];
    store.watch(() => undefined);
    await delay(100);
    await store.close();
    for (const client of taken) client.release();
    await pool.end();
  });

  test('during an append still notifies watchers of it', async () => {
    const url = await freshDatabase();
    const [store, other] = [postgresStore(url), postgresStore(url)];
    const heard: string[] = [];
    other.watch((id) => heard.push(id));
    await store.append(creation('run'));
    // By then the store knows that another one watches.
    await expect
      .poll(async () => {
        await store.append(creation(`run-${heard.length}-${performance.now()}`));
        return heard.length;
      })
      .toBeGreaterThan(3);
    const lock = new pg.Client(url);
    await lock.connect();
    await lock.query("BEGIN; SELECT FROM countersign_run WHERE id = 'run' FOR UPDATE");
    heard.length = 0;
    const append = store.append(addition('run', 1, { status: 'done' }));
    await delay(100);
    const closing = store.close();
    await lock.query('COMMIT');
    await Promise.all([append, closing, lock.end()]);
    await expect.poll(() => heard).toContain('run');
    await other.close();
  });

  function expectClosed(error: unknown): void {
    expect(error).toMatchObject({
      code: 'store-failed',
      retryable: false,
      message: expect.stringMatching(/was closed/),
    });
  }
});

describe.runIf(postgres)('a pool of one connection', () => {
  test('stays available to queries while the store polls for changes', async () => {
    const url = await freshDatabase();
    const pool = poolOn(url, 1);
    const [single, other] = [postgresStore(pool), postgresStore(url)];
    const heard = new Set<string>();
    await single.append(creation('run'));
    const stop = single.watch((runId) => heard.add(runId));
    await pause();
    expect((await single.read('run'))?.run.version).toBe(1);
    await other.append(creation('of another'));
    await until(() => heard.has('of another'));
    expect((await single.read('of another'))?.run.version).toBe(1);
    stop();
    await Promise.all([single.close(), other.close()]);
    await pool.end();
  });
});

describe.runIf(postgres)('a schema', () => {
  test.each([
    'schéma für Büro, Straße, Möbel, Küche, Größe, ñandú',
    '$countersign$',
    "it's $countersign$ $countersign_$",
  ])('may be called %s', async (schema) => {
    const url = await freshDatabase();
    const [watching, writing] = [postgresStore({ url, schema }), postgresStore({ url, schema })];
    await watching.migrate();
    const heard = new Set<string>();
    const stop = watching.watch((runId) => heard.add(runId));
    // By then it has polled for the last time, so it can only receive a notification.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await writing.append(creation('run'));
    await until(() => heard.has('run'));
    stop();
    await Promise.all([watching.close(), writing.close()]);
  });
});

describe.runIf(postgres)('a migration that waits for a table', () => {
  const later = [...MIGRATIONS, () => 'ALTER TABLE countersign_request ADD COLUMN added text;'];

  async function migrateDuringBackup() {
    const url = await freshDatabase();
    const working = postgresStore(url);
    await working.append(creation('run'));
    const backup = new pg.Client(url);
    await backup.connect();
    await backup.query('BEGIN; SELECT FROM countersign_request');
    const pool = poolOn(url, 2);
    const stop = new AbortController();
    const migrated = migratePostgres(pool, tablesIn(undefined), stop.signal, later);
    const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'DO %'";
    await until(async () => (await onServer(url, waiting)).length === 1);
    const end = async (): Promise<void> => {
      await working.close();
      await pool.end();
    };
    return { url, working, backup, stop, migrated, end };
  }

  test('lets later queries pass and finishes when it can', { timeout: 60_000 }, async () => {
    const { url, working, backup, migrated, end } = await migrateDuringBackup();
    await working.append(addition('run', 1, { opened: [request('question', 'run')] }));
    await backup.end();
    await migrated;
    expect(await onServer(url, 'SELECT added FROM countersign_request')).toEqual([{ added: null }]);
    await end();
  });

  test('is abandoned when its store is closed', { timeout: 60_000 }, async () => {
    const { backup, stop, migrated, end } = await migrateDuringBackup();
    const failed = migrated.catch((error: unknown) => error);
    stop.abort(new Error('The store was closed.'));
    expect(await failed).toMatchObject({ message: expect.stringMatching(/was closed/) });
    await backup.end();
    await end();
  });
});

/** A run on a pool of one connection, which another caller has checked out. */
async function taken() {
  const url = await freshDatabase();
  const pool = poolOn(url, 1);
  const store = postgresStore(pool);
  await store.append(creation('run'));
  const close = async () => {
    await store.close();
    await pool.end();
  };
  return { url, store, pool, client: await pool.connect(), close };
}

describe.runIf(postgres)('a pool shared with the app', () => {
  test.each([
    ['open', 'BEGIN'],
    ['failed', 'BEGIN; SELECT 1 / 0'],
  ])('loses no write to a transaction that the app left %s', async (_how, begin) => {
    const url = await freshDatabase();
    const pool = poolOn(url, 2);
    const store = postgresStore(pool);
    await store.append(creation('run'));
    const client = await pool.connect();
    await client.query(begin).catch(() => undefined);
    client.release();
    await store.append(addition('run', 1));
    await store.append(creation('other'));
    expect(await onServer(url, 'SELECT id, version FROM countersign_run ORDER BY id')).toEqual([
      { id: 'other', version: 1 },
      { id: 'run', version: 2 },
    ]);
    expect((await store.listRuns({ limit: 9 })).items).toHaveLength(2);
    await store.close();
    await pool.end();
  });

  test('acknowledges no write behind a BEGIN that was not awaited', async () => {
    const { url, store, client, close } = await taken();
    void client.query('BEGIN');
    client.release();
    await expect(store.append(addition('run', 1))).rejects.toMatchObject({
      code: 'store-failed',
      retryable: true,
      message: expect.stringMatching(/released before its BEGIN was answered.*Await every query/),
    });
    expect((await store.read('run'))?.run.version).toBe(1);
    await store.append(addition('run', 1));
    expect(await onServer(url, 'SELECT version FROM countersign_run')).toEqual([{ version: 2 }]);
    await close();
  });

  test('drops a connection whose BEGIN was not awaited', async () => {
    const { store, pool, client, close } = await taken();
    const before = await client.query('SELECT pg_backend_pid() AS pid');
    void client.query('BEGIN');
    client.release();
    await expect(store.append(addition('run', 1))).rejects.toMatchObject({ code: 'store-failed' });
    const { rows } = await pool.query('SELECT pg_backend_pid() AS pid');
    expect(rows).not.toEqual(before.rows);
    await close();
  });

  test('prepares its statements again after the app has deallocated them', async () => {
    const url = await freshDatabase();
    const pool = poolOn(url, 1);
    const store = postgresStore(pool);
    await store.append(creation('run'));
    const prepared = async () => {
      await store.read('run');
      const text = "SELECT count(*)::int AS count FROM pg_prepared_statements WHERE name LIKE 'countersign%'";
      return (await pool.query(text)).rows[0].count;
    };
    expect(await prepared()).toBeGreaterThan(0);
    await pool.query('DEALLOCATE ALL');
    // The first query notices it.
    await prepared();
    expect(await prepared()).toBeGreaterThan(0);
    await store.close();
    await pool.end();
  });

  test('uses a new connection instead of one whose transaction fails meanwhile', async () => {
    const { url, store, client, close } = await taken();
    void client.query('BEGIN');
    const failing = client.query('SELECT 1 / 0').catch(() => undefined);
    client.release();
    await store.append(addition('run', 1));
    await failing;
    expect(await onServer(url, 'SELECT version FROM countersign_run')).toEqual([{ version: 2 }]);
    await close();
  });
});

describe.runIf(postgres)('a connection of a pool shared with the app', () => {
  test('is released with as many listeners as it had', async () => {
    const pool = poolOn(await freshDatabase(), 1);
    const store = postgresStore(pool);
    await store.append(creation('run'));
    const listeners = async () => {
      const client = await pool.connect();
      const count = client.listenerCount('error');
      client.release();
      return count;
    };
    const before = await listeners();
    for (let times = 0; times < 3; times += 1) {
      await store.read('run');
      await expect(store.append(creation('run'))).rejects.toMatchObject({ code: 'run-exists' });
    }
    expect(await listeners()).toBe(before);
    await store.close();
    await pool.end();
  });
});

describe.runIf(postgres)('names', () => {
  test('of the maximum length fit into the indexes', async () => {
    const store = postgresStore(await freshDatabase());
    // Incompressible, and three bytes each.
    const name = Array.from({ length: 512 }, () => String.fromCharCode(0x4e00 + Math.random() * 20_000)).join('');
    const create = { id: 'run', agent: 'clerk', startedBy: name };
    await store.append(creation('run', { create, opened: [request('question', 'run', { labels: [name] })] }));
    const { items } = await store.listRequests({ label: name, startedBy: name, limit: 2 });
    expect(items.map(({ id }) => id)).toEqual(['question']);
    await store.close();
  });
});

describe.runIf(postgres)('tables', () => {
  test('of a newer version are not touched', async () => {
    const url = await freshDatabase();
    const old = postgresStore(url);
    await old.append(creation('run'));
    await onServer(url, 'INSERT INTO countersign_migration (version) VALUES (99)');
    const says = /have version 99, but this version of Countersign knows only version \d+.*Update Countersign/;
    const store = postgresStore(url);
    for (const call of [() => store.migrate(), () => store.append(creation('new'))]) {
      const failure = await call().catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'store-failed', retryable: false, message: expect.stringMatching(says) });
    }
    expect(await onServer(url, 'SELECT id FROM countersign_run')).toEqual([{ id: 'run' }]);
    await Promise.all([old.close(), store.close()]);
  });

  test.each([
    ['CREATE TABLE countersign_run (name text)', 'another app uses one of our table names'],
    ['CREATE TABLE countersign_migration (name text)', 'another app uses the name of the version table'],
    ['CREATE TABLE countersign_migration (version integer)', 'they were restored without their rows'],
  ])('are not touched after %s: %s', async (text) => {
    const url = await freshDatabase();
    await onServer(url, text);
    const store = postgresStore(url);
    const failure = await store.append(creation('run')).catch((error: unknown) => error);
    const says = /The tables are not those of Countersign, or some are missing.*use another `schema`/;
    expect(failure).toMatchObject({ code: 'store-failed', retryable: false, message: expect.stringMatching(says) });
    const count = 'SELECT count(*)::int AS tables FROM pg_tables WHERE schemaname = current_schema()';
    expect(await onServer(url, count)).toEqual([{ tables: 1 }]);
    await store.close();
  });

  test('cannot be created by a user without permission, and the error says to migrate as the owner', async () => {
    const url = await freshDatabase();
    const schema = /search_path%3D(\w+)/.exec(url)?.[1];
    await onServer(url, `DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN; GRANT USAGE ON SCHEMA ${schema} TO guest`);
    const guest = postgresStore(url.replace('postgres@', 'guest@'));
    const failure = await guest.migrate().catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'store-failed',
      message: expect.stringMatching(/or migrate as their owner/),
    });
    await guest.close();
  });

  async function databaseWithTwoRuns(): Promise<string> {
    const url = await freshDatabase();
    const store = postgresStore(url);
    for (const id of ['one', 'two']) await store.append(creation(id));
    await store.close();
    return url;
  }

  test('whose sequences were left behind, for example by logical replication, work once these are set', async () => {
    const url = await databaseWithTwoRuns();
    await onServer(
      url,
      'ALTER TABLE countersign_run ALTER seq RESTART; ALTER TABLE countersign_note ALTER version RESTART',
    );
    const store = postgresStore(url);
    const failure = await store.append(creation('three')).catch((error: unknown) => error as Error);
    const says = /have numbers up to 2, but their sequence is at 0.*Nothing was written/;
    expect(failure).toMatchObject({ code: 'store-failed', retryable: false, message: expect.stringMatching(says) });
    await onServer(url, /SELECT setval.*/.exec((failure as Error).message)?.[0] ?? '');
    await store.append(creation('three'));
    for (const id of ['one', 'two', 'three']) expect((await store.read(id))?.events).toHaveLength(1);
    await store.close();
  });

  test('whose sequence was set and not used since work', async () => {
    const url = await databaseWithTwoRuns();
    const setTo = (next: number) => onServer(url, `ALTER TABLE countersign_run ALTER seq RESTART WITH ${next}`);
    await setTo(2);
    const behind = postgresStore(url);
    await expect(behind.append(creation('three'))).rejects.toThrow('have numbers up to 2');
    await behind.close();
    await setTo(3);
    const store = postgresStore(url);
    await store.append(creation('three'));
    expect((await store.read('two'))?.events).toHaveLength(1);
    await store.close();
  });

  test('that are up to date can be used by a user who cannot create tables', async () => {
    const url = await freshDatabase();
    const owner = postgresStore(url);
    await owner.append(creation('run'));
    const schema = /search_path%3D(\w+)/.exec(url)?.[1];
    await onServer(url, `DROP ROLE IF EXISTS clerk`);
    await onServer(
      url,
      `CREATE ROLE clerk LOGIN; GRANT USAGE ON SCHEMA ${schema} TO clerk;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO clerk`,
    );
    const clerk = postgresStore(url.replace('postgres@', 'clerk@'));
    await clerk.append(addition('run', 1));
    await clerk.append(creation('other', { opened: [request('question', 'other', { labels: ['red'] })] }));
    expect(await clerk.due(10)).toEqual(await owner.due(10));
    await Promise.all([owner.close(), clerk.close()]);
  });
});

describe.runIf(postgres)('a commit that waits for a synchronous standby', () => {
  test.each(['own', 'shared'])('and is cancelled counts, with a warning (%s pool)', async (kind) => {
    const told: string[] = [];
    const hear = ({ name, message }: Error): unknown => name === 'CountersignWarning' && told.push(message);
    process.on('warning', hear);
    const url = await freshDatabase();
    const pool = poolOn(url);
    // A minute passes between the two warnings.
    vi.useFakeTimers({ toFake: ['performance'] });
    vi.advanceTimersByTime(kind === 'own' ? 0 : 120_000);
    onTestFinished(async () => {
      vi.useRealTimers();
      process.off('warning', hear);
      await waitFor('');
      await store.close();
      await pool.end();
    });
    const store = kind === 'own' ? postgresStore(url) : postgresStore({ pool });
    await store.migrate();
    await waitFor('nobody');
    const cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    const cancelling = until(async () => {
      await onServer(server.url(), cancel);
      return told.length > 0;
    });
    // Commits wait only once the server's checkpointer has read the setting, which can be after the sessions have.
    for (let index = 0; told.length === 0; index += 1) {
      await store.append(creation(`run-${index}`));
      await new Promise(setImmediate);
    }
    await cancelling;
    expect(told).toEqual([expect.stringContaining('let the standby catch up before you fail over')]);
  });

  async function waitFor(standby: string): Promise<void> {
    await onServer(server.url(), `ALTER SYSTEM SET synchronous_standby_names = '${standby}'`);
    await onServer(server.url(), 'SELECT pg_reload_conf()');
    const shown = async () => (await onServer(server.url(), 'SHOW synchronous_standby_names'))[0];
    await until(async () => (await shown())?.synchronous_standby_names === standby);
  }
});

/** Appends three events and a question at a time until `stop` fires. Returns the last acknowledged version. */
async function keepAppending(store: Store, runId: string, stop: AbortSignal, failures: unknown[]): Promise<number> {
  let acknowledged = 0;
  let version: number | undefined = 0;
  while (!stop.aborted) {
    try {
      version ??= (await store.read(runId))?.run.version ?? 0;
      const events = [0, 1, 2].map((index) => stepDone(`${version}-${index}`));
      const change = { events, opened: [request(`${runId}-${version}`, runId)] };
      await store.append(version === 0 ? creation(runId, change) : addition(runId, version, change));
      version += 3;
      acknowledged = version;
    } catch (error) {
      failures.push(error);
      version = undefined;
      await pause();
    }
  }
  return acknowledged;
}

/** Waits until every run has progressed. */
async function progress(store: Store): Promise<void> {
  const versions = async (): Promise<readonly number[]> => {
    try {
      return (await store.listRuns({ limit: 100, order: 'oldest' })).items.map(({ version }) => version);
    } catch {
      // The server is down, or has just come back.
      return [];
    }
  };
  const before = await versions();
  await until(async () => {
    const now = await versions();
    return now.length === 8 && now.every((version, index) => version > (before[index] ?? 0));
  });
}

async function whenBack(call: () => Promise<unknown>): Promise<void> {
  await until(async () => {
    try {
      await call();
      return true;
    } catch (error) {
      expect(error).toMatchObject({ code: 'store-failed', retryable: true });
      return false;
    }
  });
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const startedAt = performance.now(); !(await isSo()); await pause()) {
    if (performance.now() - startedAt > 20_000) throw new Error('It did not come to that.');
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 10));
}
