// The store in PostgreSQL keeps the contract of stores: by an address, on a pool, and on the least that can be a pool.
import { type PostgresPool, postgresStore } from 'countersign/postgres';
import { type StoreUnderTest, storeContract } from 'countersign/testing';
import { describe, test } from 'vitest';
import { poolOn, testServer } from './postgres-server.ts';

const postgres = await testServer();
let schemas = 0;

describe.runIf(postgres)('postgresStore', () => {
  describe('on an address', () => {
    storeContract(
      onFreshDatabase((url) => ({ open: () => postgresStore({ url, poolMax: 4 }) })),
      { describe, test: patientTest },
    );
  });

  describe('on a pool, in a schema', () => {
    storeContract(
      onFreshDatabase((url) => {
        const pool = poolOn(url);
        const schema = `Odd "schema" ${++schemas}`;
        return { open: () => postgresStore({ pool, schema }), close: () => pool.end() };
      }),
      { describe, test: patientTest },
    );
  });

  describe('on something with a query', () => {
    storeContract(
      onFreshDatabase((url) => {
        const pool = poolOn(url);
        const least: PostgresPool = { query: (text, values) => pool.query(text, values) };
        return { open: () => postgresStore(least), close: () => pool.end() };
      }),
      { describe, test: patientTest },
    );
  });
});

/** A busy computer takes its time to make connections. */
function patientTest(name: string, body: () => Promise<void>): void {
  test(name, body);
}

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
