// PostgreSQL as others have set it up: users with few rights, schemas, encodings, and settings that differ from the defaults.
import { postgresStore } from 'countersign/postgres';
import { describe, expect, test } from 'vitest';
import { creation } from '../../src/testing/store-contract-check.ts';
import { onServer, type TestServer, testServer } from './postgres-server.ts';

const postgres = await testServer();
const { server } = postgres ?? ({} as TestServer);

describe.runIf(postgres)('tables', () => {
  test('are made in a schema by its owner, who may make no schema', async () => {
    const url = server.url();
    await onServer(url, 'CREATE ROLE owner LOGIN; CREATE SCHEMA "Owner\'s" AUTHORIZATION owner');
    const owner = postgresStore({ url: url.replace('postgres@', 'owner@'), schema: "Owner's" });
    await owner.append(creation('run'));
    await owner.close();
    const stranger = postgresStore({ url: url.replace('postgres@', 'owner@'), schema: 'other' });
    await expect(stranger.migrate()).rejects.toMatchObject({ code: 'store-failed', retryable: false });
    await stranger.close();
  });
});
