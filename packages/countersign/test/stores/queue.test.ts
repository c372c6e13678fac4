// Since when a run waits for a worker, if one drove it before.
import { memoryStore } from 'countersign';
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import type { Store } from 'countersign/store';
import { expect, onTestFinished, test } from 'vitest';
import { creation } from '../../src/testing/store-contract/check.ts';
import { testServer } from './postgres-server.ts';

const postgres = await testServer();
const stores: readonly (readonly [string, () => Promise<Store>])[] = [
  ['memory', async () => memoryStore()],
  ['SQLite', async () => sqliteStore(':memory:')],
  ...(postgres ? [['PostgreSQL', async () => postgresStore(await postgres.freshDatabase())] as const] : []),
];

test.each(stores)('a run whose claim lapsed waits since then: %s', async (_name, open) => {
  const store = await open();
  onTestFinished(() => store.close());
  await store.append(creation('run', { claim: { how: 'take', token: 'me', leaseMs: 60_000 } }));
  const [before] = await store.queue();
  expect(before).toEqual({ agent: 'agent', due: 0, dueSince: null, claimed: 1 });
  await expect.poll(async () => (await store.now()) > startOf(await store.read('run'))).toBe(true);
  const shortenedAt = await store.now();
  await store.renew('run', 'me', 1);
  await expect.poll(async () => (await store.queue())[0]?.due).toBe(1);
  expect((await store.queue())[0]?.dueSince).toBeGreaterThan(shortenedAt);
});

const startOf = (loaded: Awaited<ReturnType<Store['read']>>): number => loaded?.run.createdAt ?? 0;
