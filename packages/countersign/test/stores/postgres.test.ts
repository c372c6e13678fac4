// The PostgreSQL store fulfils the store contract: on an address, and on the smallest pool-like object in a schema.
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

  describe('on something with a query, in a schema', () => {
    storeContract(
      onFreshDatabase((url) => {
        const pool = poolOn(url);
        const least: PostgresPool = { query: (text, values) => pool.query(text, values) };
        const schema = `Odd "schema" ${++schemas}`;
        return { open: () => postgresStore({ pool: least, schema }), close: () => pool.end() };
      }),
      { describe, test: patientTest },
    );
  });
});

/** A busy machine takes its time to open connections. */
function patientTest(name: string, body: () => Promise<void>): void {
  test(name, body);
}

type Opening = { readonly open: () => StoreUnderTest['store']; readonly close?: () => Promise<void> };

/** The clock belongs to the server, so the tests wait for real. */
function onFreshDatabase(opening: (url: string) => Opening): () => Promise<StoreUnderTest> {
  return async () => {
    if (postgres === undefined) throw new Error('PostgreSQL is not available.');
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
