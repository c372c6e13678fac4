// The store in a SQLite file keeps the contract of stores, with a file and without.
import { StatementSync } from 'node:sqlite';
import { sqliteStore } from 'countersign/sqlite';
import { storeContract } from 'countersign/testing';
import { describe, test } from 'vitest';
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
