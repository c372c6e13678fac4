// Starts that race against freezes: none is recorded after a freeze was acknowledged, on any store. Restate has its own in its package.
import { memoryStore, type Store } from 'countersign';
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import { describe, test } from 'vitest';
import { campaignSize } from '../campaign-size.ts';
import { temporaryFolder } from '../stores/folder.ts';
import { testServer } from '../stores/postgres-server.ts';
import { raceStartsAgainstFreezes } from './racing.ts';

const STARTS = campaignSize(1_000, 10_000);

const postgres = await testServer();

const STORES: readonly (readonly [string, () => Promise<readonly Store[]>])[] = [
  ['memory', async () => [memoryStore()]],
  ['SQLite', async () => manyOf(sqliteStore, `${temporaryFolder().path}/runs.db`, 2)],
  ...(postgres ? [['PostgreSQL', async () => manyOf(postgresStore, await postgres.freshDatabase(), 4)] as const] : []),
];

function manyOf(open: (at: string) => Store, at: string, count: number): readonly Store[] {
  return Array.from({ length: count }, () => open(at));
}

describe.each(STORES)('starts against freezes on %s', (_name, open) => {
  test('none that begins after a freeze has returned is recorded before it is lifted', {
    timeout: 300_000,
  }, async () => {
    const stores = await open();
    await raceStartsAgainstFreezes(stores, { starts: STARTS, lanes: 40, between: 100 });
    await Promise.all(stores.map((store) => store.close()));
  });
});
