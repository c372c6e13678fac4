// The store in PostgreSQL keeps the contract of stores: by an address, on a pool, and on the least that is called a pool.
import { type PostgresPool, postgresStore } from 'countersign/postgres';
import { type StoreUnderTest, storeContract } from 'countersign/testing';
import pg from 'pg';
import { describe, test } from 'vitest';
import { testServer } from './postgres-server.ts';

const postgres = await testServer();
let schemas = 0;

describe.runIf(postgres)('postgresStore', () => {
  describe('on an address', () => {
    storeContract(
      onFreshDatabase((url) => ({ open: () => postgresStore({ url, poolMax: 4 }) })),
      { describe, test },
    );
  });

  describe('on a pool, in a schema', () => {
    storeContract(
      onFreshDatabase((url) => {
        const pool = new pg.Pool({ connectionString: url, max: 4 });
        const schema = `Odd "schema" ${++schemas}`;
        return { open: () => postgresStore({ pool, schema }), close: () => pool.end() };
      }),
      { describe, test },
    );
  });

  describe('on something with a query', () => {
    storeContract(
      onFreshDatabase((url) => {
        const pool = new pg.Pool({ connectionString: url, max: 4 });
        const least: PostgresPool = { query: (text, values) => pool.query(text, values) };
        return { open: () => postgresStore(least), close: () => pool.end() };
      }),
      { describe, test },
    );
  });
});

type Opening = { readonly open: () => StoreUnderTest['store']; readonly close?: () => Promise<void> };

/** The clock is that of the server, so the tests wait for real. */
function onFreshDatabase(opening: (url: string) => Opening): () => Promise<StoreUnderTest> {
  return async () => {
    if (postgres === undefined) throw new Error('There is no PostgreSQL.');
    const { open, close } = opening(await postgres.freshDatabase());
    const stores = [open()];
    return {
      store: stores[0] ?? open(),
      another: async () => {
        const store = open();
        stores.push(store);
        return store;
      },
      close: async () => {
        await Promise.all(stores.map((store) => store.close()));
        await close?.();
      },
    };
  };
}
