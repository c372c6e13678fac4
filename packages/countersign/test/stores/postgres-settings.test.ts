// PostgreSQL configured by others: users with few permissions, schemas, encodings, and settings other than the defaults.
import { postgresStore } from 'countersign/postgres';
import { describe, expect, test } from 'vitest';
import { MIGRATIONS, migratePostgres, tablesIn } from '../../src/stores/postgres/schema.ts';
import { addition, countDone, creation, request } from '../../src/testing/store-contract/check.ts';
import { onServer, poolOn, type TestServer, testServer, withSetting } from './postgres-server.ts';

const postgres = await testServer({ own: true });
const { server, freshDatabase } = postgres ?? ({} as TestServer);

describe.runIf(postgres)('tables', () => {
  test('are created in a schema by its owner, who cannot create schemas', async () => {
    const url = server.url();
    await onServer(url, 'CREATE ROLE owner LOGIN; CREATE SCHEMA "Owner\'s" AUTHORIZATION owner');
    const owner = postgresStore({ url: url.replace('postgres@', 'owner@'), schema: "Owner's" });
    await owner.append(creation('run'));
    await owner.close();
    const stranger = postgresStore({ url: url.replace('postgres@', 'owner@'), schema: 'other' });
    await expect(stranger.migrate()).rejects.toMatchObject({ code: 'store-failed', retryable: false });
    await stranger.close();
  });

  test('without a schema are found through the search path, and created in its first schema', async () => {
    await onServer(server.url(), 'CREATE SCHEMA first; CREATE SCHEMA second');
    const on = (path: string) => postgresStore(`${server.url()}?options=-c%20search_path%3D${path}`);
    const second = on('second');
    await second.append(creation('run'));
    const both = on('first,second');
    expect(await both.due(5)).toEqual(['run']);
    const first = on('first');
    await first.append(creation('other'));
    const again = on('first,second');
    expect(await again.due(5)).toEqual(['other']);
    await Promise.all([first, second, both, again].map((store) => store.close()));
  });

  test('of an older version are migrated in place, not in the first schema of the search path', async () => {
    await onServer(server.url(), 'CREATE SCHEMA before; CREATE SCHEMA "Old One"');
    const on = (path: string) => `${server.url()}?options=${encodeURIComponent(`-c search_path=${path}`)}`;
    const old = postgresStore(on('"Old\\ One"'));
    await old.append(creation('run'));
    const pool = poolOn(on('before,"Old\\ One"'));
    const later = [...MIGRATIONS, () => 'CREATE TABLE countersign_added (id integer);'];
    await migratePostgres(pool, tablesIn(undefined), new AbortController().signal, later);
    const tables = "SELECT schemaname AS schema FROM pg_tables WHERE tablename = 'countersign_added' AND schemaname IN";
    expect(await onServer(server.url(), `${tables} ('before', 'Old One')`)).toEqual([{ schema: 'Old One' }]);
    await old.close();
    await pool.end();
  });

  test('of the first version get the progress of requests and their marks, and keep their runs', async () => {
    const url = await freshDatabase();
    const pool = poolOn(url);
    await migratePostgres(pool, tablesIn(undefined), new AbortController().signal, MIGRATIONS.slice(0, 1));
    await onServer(
      url,
      `INSERT INTO countersign_run (created_at, id, agent, status, outcome, updated_at, version, hash)
        VALUES (1, 'run', 'agent', 'waiting', 'null', 1, 1, '');
      INSERT INTO countersign_request (created_at, id, run_id, agent, tool, kind, digest, card, deciders)
        VALUES (1, 'question', 'run', 'agent', 'tool', 'approval', '', '{}', '{*}')`,
    );
    const store = postgresStore(pool);
    expect(await store.request('question')).toMatchObject({ progress: null, settledAt: null });
    expect(await store.takeUntold?.(5, 1_000)).toEqual([]);
    await store.append(addition('run', 1, { progressed: [{ id: 'question', progress: { votes: 1 } }] }));
    expect(await store.request('question')).toMatchObject({ progress: { votes: 1 } });
    expect(await store.takeUntold?.(5, 1_000)).toMatchObject([{ request: { id: 'question' }, news: 1 }]);
    await store.close();
    await pool.end();
  });
});

describe.runIf(postgres)('a setting that would change stored values', () => {
  test.each([
    ['extra_float_digits', '-3'],
    ['standard_conforming_strings', 'off'],
    ['array_nulls', 'off'],
  ])('is rejected at first and on existing tables: %s', async (setting, value) => {
    const url = await freshDatabase();
    const refused = async (): Promise<void> => {
      const store = postgresStore(withSetting(url, setting, value));
      const message = expect.stringMatching(`${setting} = ${value}.*\\?options=-c%20${setting}%3D`);
      const failure = { code: 'store-failed', retryable: false, message };
      await expect(store.append(creation('run'))).rejects.toMatchObject(failure);
      await store.close();
    };
    await refused();
    const store = postgresStore(url);
    await store.migrate();
    await refused();
    expect(await store.read('run')).toBe(undefined);
    await store.close();
  });

  test.each(['LATIN1', 'SQL_ASCII'])('is rejected: a database in %s', async (encoding) => {
    const name = `in_${encoding.toLowerCase()}`;
    await onServer(server.url(), `CREATE DATABASE ${name} ENCODING '${encoding}' LOCALE 'C' TEMPLATE template0`);
    const store = postgresStore(server.url(name));
    const message = expect.stringContaining(`server_encoding = ${encoding}`);
    await expect(store.migrate()).rejects.toMatchObject({ code: 'store-failed', retryable: false, message });
    await store.close();
    expect(await onServer(server.url(name), "SELECT FROM pg_class WHERE relname LIKE 'countersign%'")).toEqual([]);
  });

  test('that risks losing commits in a crash gives one warning', async () => {
    const told: string[] = [];
    const hear = ({ name, message }: Error): unknown => name === 'CountersignWarning' && told.push(message);
    process.on('warning', hear);
    const url = withSetting(await freshDatabase(), 'synchronous_commit', 'off');
    for (let opened = 0; opened < 2; opened += 1) {
      const store = postgresStore(url);
      await store.append(creation(`run-${opened}`));
      await store.close();
    }
    await new Promise(setImmediate);
    process.off('warning', hear);
    expect(told).toEqual([expect.stringContaining('synchronous_commit = off')]);
  });

  test('does not include harmless settings', async () => {
    const url = [
      ...[
        ['extra_float_digits', '0'] as const,
        ['DateStyle', 'German'] as const,
        ['IntervalStyle', 'sql_standard'] as const,
      ],
      ...[['bytea_output', 'escape'] as const, ['TimeZone', 'Asia/Kathmandu'] as const],
    ].reduce((url, [name, value]) => withSetting(url, name, value), await freshDatabase());
    const store = postgresStore(url);
    const opened = request('question', 'run', { createdAt: 1_800_000_000_123, expiresAt: 1_800_000_000_124 });
    await store.append(creation('run', { opened: [opened], wakeAt: 1_800_000_000_125 }));
    expect(await store.request('question')).toMatchObject(opened);
    expect((await store.read('run'))?.run.wakeAt).toBe(1_800_000_000_125);
    await store.close();
  });
});

describe.runIf(postgres).each(['repeatable read', 'serializable'])('with transactions that are %s', (level) => {
  test('racing writers get the same errors as with the default level', { timeout: 60_000 }, async () => {
    const url = withSetting(await freshDatabase(), 'default_transaction_isolation', level);
    const stores = Array.from({ length: 4 }, () => postgresStore({ url, poolMax: 4 }));
    const [store = postgresStore(url)] = stores;
    const atOnce = <T>(each: (one: typeof store, index: number) => Promise<T>): Promise<T>[] =>
      Array.from({ length: 20 }, (_, index) => each(stores[index % stores.length] ?? store, index));
    await Promise.all(stores.map((one) => one.migrate()));

    expect(
      await countDone(
        atOnce((one) => one.append(creation('run'))),
        'run-exists',
      ),
    ).toBe(1);
    expect(
      await countDone(
        atOnce((one) => one.append(addition('run', 1))),
        'stale-version',
      ),
    ).toBe(1);
    const claims = await Promise.all(atOnce((one, index) => one.claim('run', `${index}`, 60_000)));
    expect(claims.filter((claim) => claim !== undefined).length).toBe(1);

    const all = Array.from({ length: 40 }, (_, index) => `question-${index}`);
    await store.append(creation('asks', { opened: all.map((id) => request(id, 'asks')) }));
    const taken = (await Promise.all(atOnce((one) => one.takeUntold?.(3, 60_000) ?? Promise.resolve([])))).flat();
    taken.push(...((await store.takeUntold?.(40, 60_000)) ?? []));
    expect(taken.map(({ request: { id } }) => id).sort()).toEqual([...all].sort());

    expect((await Promise.all(atOnce((one) => one.notes.put('any', 'note', 1)))).every((done) => done)).toBe(true);
    const put = await Promise.all(atOnce((one) => one.notes.put('one', 'note', 1, { version: 0 })));
    expect(put.filter((done) => done).length).toBe(1);
    const removed = await Promise.all(atOnce((one) => one.notes.remove('one', 'note')));
    expect(removed.filter((done) => done).length).toBe(1);
    await Promise.all(stores.map((one) => one.close()));
  });
});
