// The store in a SQLite file keeps the contract of stores, with a file and without.
import { readFileSync } from 'node:fs';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { sqliteStore } from 'countersign/sqlite';
import { storeContract } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { addition, creation, interrupt } from '../../src/testing/store-contract/check.ts';
import { temporaryFolder } from './folder.ts';

describe('sqliteStore on a file', () => {
  storeContract(
    async () => {
      const folder = temporaryFolder();
      let time = 1_800_000_000_000;
      const open = () => sqliteStore({ path: `${folder.path}/runs.db`, now: () => time });
      const stores = [open()] as const;
      const others: ReturnType<typeof open>[] = [];
      return {
        store: stores[0],
        another: async () => {
          const store = open();
          others.push(store);
          return store;
        },
        advance: (ms) => {
          time += ms;
        },
        close: async () => {
          await Promise.all([...stores, ...others].map((store) => store.close()));
          folder.remove();
        },
      };
    },
    { describe, test },
  );
});

describe('sqliteStore in memory, prepared for searching', () => {
  storeContract(
    async () => {
      let time = 1_800_000_000_000;
      const store = sqliteStore({ path: ':memory:', now: () => time });
      await store.prepareSearch();
      const advance = (ms: number): void => {
        time += ms;
      };
      return { store, advance, close: () => store.close() };
    },
    { describe, test },
  );
});

describe('sqliteStore on a Node that makes no arrays of rows', () => {
  storeContract(
    async () => {
      const setReturnArrays = Object.getOwnPropertyDescriptor(StatementSync.prototype, 'setReturnArrays');
      if (setReturnArrays !== undefined) Reflect.deleteProperty(StatementSync.prototype, 'setReturnArrays');
      let time = 1_800_000_000_000;
      const store = sqliteStore({ path: ':memory:', now: () => time });
      return {
        store,
        advance: (ms) => {
          time += ms;
        },
        close: async () => {
          await store.close();
          if (setReturnArrays !== undefined) {
            Object.defineProperty(StatementSync.prototype, 'setReturnArrays', setReturnArrays);
          }
        },
      };
    },
    { describe, test },
  );
});

test('an index of words that an earlier version made is made anew', async () => {
  const folder = temporaryFolder();
  const path = `${folder.path}/runs.db`;
  const store = sqliteStore(path);
  await store.prepareSearch();
  const file = new DatabaseSync(path);
  const { sql = '' } = file.prepare("SELECT sql FROM sqlite_schema WHERE name = 'countersign_search'").get() ?? {};
  file.exec(`DROP TABLE countersign_search; ${String(sql).replace(/,\s*tokenize = '[^']*'/, '')}`);
  file.close();
  const ask = (id: string, tool: string) => store.append(creation(id, { opened: [interrupt(`${id}?`, id, { tool })] }));
  await ask('nina', 'nina');
  await ask('nino', 'niño');
  await store.prepareSearch();
  await ask('later', 'niñera');
  const found = async (search: string) =>
    (await store.listInterrupts({ search, limit: 9 })).items.map(({ runId }) => runId);
  expect(await found('niñ')).toEqual(['nino', 'later']);
  expect(await found('nin')).toEqual(['nina']);
  await store.close();
  folder.remove();
});

test('an index of words of another shape is not asked until it is made anew', async () => {
  const folder = temporaryFolder();
  const path = `${folder.path}/runs.db`;
  const store = sqliteStore(path);
  await store.prepareSearch();
  const file = new DatabaseSync(path);
  file.exec(`DROP TRIGGER countersign_search_open; DROP TRIGGER countersign_search_settle; DROP TABLE countersign_search;
    CREATE VIRTUAL TABLE countersign_search USING fts5 (words, starter, seq UNINDEXED, columnsize = 0)`);
  file.close();
  await store.append(creation('run', { opened: [interrupt('a', 'run', { tool: 'pay', risk: 'high' })] }));
  const found = async () => (await store.listInterrupts({ search: 'pay', risk: 'high', limit: 9 })).items.length;
  expect(await found()).toBe(1);
  await store.prepareSearch();
  expect(await found()).toBe(1);
  await store.close();
  folder.remove();
});

test('no word of a deleted run is left in a file whose index was put together before it was vacuumed', async () => {
  const folder = temporaryFolder();
  const path = `${folder.path}/runs.db`;
  const store = sqliteStore(path);
  await store.prepareSearch();
  for (const id of ['other', 'one', 'last'])
    await store.append(
      creation(id, { opened: [interrupt(`${id}?`, id, { tool: id === 'one' ? 'xylophone' : 'pay' })] }),
    );
  await store.append(addition('one', 1, { status: 'done', settled: [{ id: 'one?', settlement: {} }] }));
  expect(await store.delete('one')).toBe(true);
  await store.close();
  const file = new DatabaseSync(path);
  file.exec("INSERT INTO countersign_search (countersign_search) VALUES ('optimize'); VACUUM");
  file.close();
  expect(readFileSync(path, 'latin1')).not.toContain('ylophon');
  folder.remove();
});
