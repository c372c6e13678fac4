// A store without a location, for example from an unset variable, is rejected when it is created, and so is
// an instance with a value that is not a store.
import { countersign, memoryStore } from 'countersign';
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import { expect, test } from 'vitest';

const query = async () => ({ rows: [] });

test.each([
  ['PostgreSQL of nothing', () => postgresStore(undefined as never)],
  ['PostgreSQL of an empty address', () => postgresStore('')],
  ['PostgreSQL of something else', () => postgresStore('nonsense')],
  ['PostgreSQL of no options', () => postgresStore({} as never)],
  ['PostgreSQL of options without an address', () => postgresStore({ url: undefined as never })],
  ['PostgreSQL of a pool that is none', () => postgresStore({ pool: {} as never })],
  ['PostgreSQL of no pool', () => postgresStore({ pool: undefined as never })],
  ['PostgreSQL of something with another query', () => postgresStore({ query: 'SELECT 1' } as never)],
  ['PostgreSQL without connections', () => postgresStore({ url: 'postgres:///runs', poolMax: 0 })],
  ['PostgreSQL of one connection and a half', () => postgresStore({ url: 'postgres:///runs', poolMax: 1.5 })],
  ['PostgreSQL with a misspelt schema', () => postgresStore({ url: 'postgres:///runs', shema: 'mine' } as never)],
  ['PostgreSQL with an empty schema', () => postgresStore({ url: 'postgres:///runs', schema: '' })],
  ['PostgreSQL with null as its schema', () => postgresStore({ url: 'postgres:///runs', schema: null as never })],
  [
    'PostgreSQL with a schema that is cut off',
    () => postgresStore({ url: 'postgres:///runs', schema: 'ä'.repeat(32) }),
  ],
  ['PostgreSQL with a schema that ends too soon', () => postgresStore({ url: 'postgres:///runs', schema: 'a\0b' })],
  ['PostgreSQL of a pool with a misspelt schema', () => postgresStore({ pool: { query }, Schema: 'mine' } as never)],
  ['PostgreSQL of two places', () => postgresStore({ pool: { query }, url: 'postgres:///runs' })],
  ['PostgreSQL of two sizes', () => postgresStore({ pool: { query }, poolMax: 5 } as never)],
  ['SQLite with a misspelt option', () => sqliteStore({ path: 'runs.db', busyTimeoutMS: 5 } as never)],
  [
    'SQLite with a timeout that is not a number',
    () => sqliteStore({ path: 'runs.db', busyTimeoutMs: 'long' as never }),
  ],
  ['SQLite that waits for less than nothing', () => sqliteStore({ path: 'runs.db', busyTimeoutMs: -1 })],
  ['memory with a misspelt option', () => memoryStore({ clock: Date.now } as never)],
  ['SQLite of nothing', () => sqliteStore(undefined as never)],
  ['SQLite of an empty path', () => sqliteStore('')],
  ['SQLite of options without a path', () => sqliteStore({ path: undefined as never })],
])('%s', (_what, make) => {
  expect(make).toThrow(expect.objectContaining({ code: 'invalid-options' }));
});

test.each([
  'postgres://ann@localhost/runs',
  'postgresql:///runs?host=/run/postgresql',
  'socket:/run/postgresql?db=runs',
  '/run/postgresql runs',
])('%s is a valid address', async (url) => {
  await postgresStore(url).close();
});

test('a schema name may have 63 bytes', async () => {
  await postgresStore({ url: 'postgres:///runs', schema: 'a'.repeat(63) }).close();
});

test.each([
  ['an uncalled function', sqliteStore, 'Call it, as in store: sqliteStore('],
  ['an address', 'sqlite:runs.db', 'Write store: sqliteStore(path)'],
  ['a promise of a store', Promise.resolve(memoryStore()), 'Await it first'],
  ['an object', {}, 'of type object'],
  ['null', null, 'null'],
])('%s is not a store', (_what, store, says) => {
  const message = expect.stringContaining(says);
  expect(() => countersign({ store: store as never })).toThrow(
    expect.objectContaining({ code: 'invalid-options', message }),
  );
});
