// Poolers between the store and PostgreSQL that assign each statement another connection.
import { postgresStore } from 'countersign/postgres';
import { describe, expect, test } from 'vitest';
import type { Store } from '../../src/runs/port/store.ts';
import { addition, creation } from '../../src/testing/store-contract/check.ts';
import { startPooler } from './pooler.ts';
import { poolOn, type TestServer, testServer } from './postgres-server.ts';

const postgres = await testServer({ own: true });
const { freshDatabase } = postgres ?? ({} as TestServer);

describe.runIf(postgres)('a pooler that shares connections between statements', () => {
  test.each(['an address', 'a pool'])('works for a store on %s', async (given) => {
    const pooler = await startPooler(await freshDatabase(), 3);
    const pools = [poolOn(pooler.url), poolOn(pooler.url)];
    const stores = pools.map((pool) => (given === 'a pool' ? postgresStore(pool) : postgresStore(pooler.url)));
    await Promise.all(stores.flatMap((store, at) => [1, 2, 3, 4].map((run) => works(store, `run-${at}-${run}`))));
    await Promise.all(stores.map((store) => store.close()));
    await Promise.all(pools.map((pool) => pool.end()));
    pooler.close();
  });

  test('costs no new connection per statement once another client has prepared the same one', async () => {
    const url = await freshDatabase();
    const pooler = await startPooler(url, 1);
    const pools = [poolOn(pooler.url), poolOn(pooler.url)] as const;
    const [first, second] = [postgresStore(pools[0]), postgresStore(pools[1])];
    await first.append(creation('run'));
    await first.read('run');
    await second.read('run');
    let connected = 0;
    pools[1].on('connect', () => (connected += 1));
    for (let reads = 0; reads < 5; reads += 1) expect((await second.read('run'))?.run.version).toBe(1);
    expect(connected).toBeLessThanOrEqual(1);
    await Promise.all([first.close(), second.close()]);
    await Promise.all(pools.map((pool) => pool.end()));
    pooler.close();
  });

  test.each(['an address', 'a pool'])('does not stop notifications to a store on %s', async (given) => {
    const pooler = await startPooler(await freshDatabase(), 3);
    const pool = poolOn(pooler.url);
    const watching = given === 'a pool' ? postgresStore(pool) : postgresStore(pooler.url);
    const writing = postgresStore(pooler.url);
    const heard = new Set<string>();
    const stop = watching.watch((runId) => heard.add(runId));
    await writing.append(creation('at first'));
    await expect.poll(() => heard).toContain('at first');
    // By then it has polled for the last time, if it listens.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await writing.append(creation('later'));
    await expect.poll(() => heard).toContain('later');
    stop();
    await Promise.all([watching.close(), writing.close()]);
    await pool.end();
    pooler.close();
  });
});

async function works(store: Store, runId: string): Promise<void> {
  await store.append(creation(runId));
  for (let version = 1; version < 10; version += 1) {
    await store.append(addition(runId, version));
    expect((await store.claim(runId, 'token', 60_000))?.run.version).toBe(version + 1);
    expect(await store.renew(runId, 'token', 60_000)).toBe(true);
    expect((await store.read(runId))?.events).toHaveLength(version + 1);
  }
}
