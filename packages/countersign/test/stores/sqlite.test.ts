// The SQLite store fulfils the store contract, on a file and in memory.
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
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

describe('sqliteStore in memory', () => {
  storeContract(
    async () => {
      let time = 1_800_000_000_000;
      const store = sqliteStore({ path: ':memory:', now: () => time });
      const advance = (ms: number): void => {
        time += ms;
      };
      return { store, advance, close: () => store.close() };
    },
    { describe, test },
  );
});

test('a vacuumed file has no trace of a deleted run except its id', async () => {
  const folder = temporaryFolder();
  const path = `${folder.path}/runs.db`;
  const store = sqliteStore(path);
  for (const id of ['other', 'one', 'last'])
    await store.append(
      creation(id, { opened: [interrupt(`${id}?`, id, { tool: id === 'one' ? 'xylophone' : 'pay' })] }),
    );
  await store.append(addition('one', 1, { status: 'done', settled: [{ id: 'one?', settlement: {} }] }));
  expect(await store.delete('one')).toBe(true);
  await store.close();
  const file = new DatabaseSync(path);
  file.exec('VACUUM');
  file.close();
  expect(readFileSync(path, 'latin1')).not.toContain('ylophon');
  folder.remove();
});

test('a file of the first version gets the progress of interrupts and their marks, and keeps its runs', async () => {
  const folder = temporaryFolder();
  const path = `${folder.path}/runs.db`;
  const old = sqliteStore(path);
  await old.append(creation('run', { opened: [interrupt('question', 'run')] }));
  await old.close();
  const database = new DatabaseSync(path);
  database.exec('DROP INDEX countersign_interrupt_untold; DELETE FROM countersign_migration WHERE version > 1');
  for (const column of ['progress', 'news', 'tell_at', 'tell_attempts'])
    database.exec(`ALTER TABLE countersign_interrupt DROP COLUMN ${column}`);
  database.close();
  const store = sqliteStore(path);
  expect(await store.interrupt('question')).toMatchObject({ progress: null, settledAt: null });
  expect(await store.takeUntold?.(5, 1_000)).toEqual([]);
  await store.append(addition('run', 1, { progressed: [{ id: 'question', progress: { votes: 1 } }] }));
  expect(await store.interrupt('question')).toMatchObject({ progress: { votes: 1 } });
  expect(await store.takeUntold?.(5, 1_000)).toMatchObject([{ interrupt: { id: 'question' }, news: 1 }]);
  await store.close();
  folder.remove();
});
