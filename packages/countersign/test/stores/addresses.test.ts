// A store without a place to keep anything, such as from a variable that is not set, is refused when it is made.
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import { expect, test } from 'vitest';

test.each([
  ['PostgreSQL of nothing', () => postgresStore(undefined as never)],
  ['PostgreSQL of an empty address', () => postgresStore('')],
  ['PostgreSQL of something else', () => postgresStore('nonsense')],
  ['PostgreSQL of no options', () => postgresStore({} as never)],
  ['PostgreSQL of options without an address', () => postgresStore({ url: undefined as never })],
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
])('%s is an address', async (url) => {
  await postgresStore(url).close();
});
