// Connections to PostgreSQL that the network loses silently: no data arrives, and neither side closes them.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { postgresStore } from 'countersign/postgres';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { addition, creation } from '../../src/testing/store-contract/check.ts';
import { poolOn, type TestServer, testServer } from './postgres-server.ts';

const postgres = await testServer({ own: true });
const { freshDatabase } = postgres ?? ({} as TestServer);

afterEach(() => void vi.useRealTimers());

describe.runIf(postgres)('a connection that is lost silently', () => {
  test.each(['an address', 'a pool'])('is dropped and replaced, for a store on %s', async (given) => {
    const network = await startNetwork(await freshDatabase());
    const pool = poolOn(network.url, 2);
    const store = postgresStore(given === 'a pool' ? { pool } : { url: network.url, poolMax: 2 });
    await store.append(creation('run'));
    await Promise.all([store.read('run'), store.due(1), store.listRuns({ limit: 1 })]);
    network.lose();
    // By then the timer that waits for responses is gone.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    const failures = [store.append(addition('run', 1)), store.listRuns({ limit: 1 })].map((call) =>
      call.catch((error: unknown) => error),
    );
    await vi.advanceTimersByTimeAsync(122_000);
    for (const failure of await Promise.all(failures))
      expect(failure).toMatchObject({ code: 'store-failed', retryable: true });
    vi.useRealTimers();
    await store.append(addition('run', 1));
    expect((await store.listRuns({ limit: 1 })).items).toMatchObject([{ id: 'run', version: 2 }]);
    await store.close();
    await pool.end();
    network.close();
  });

  test('is dropped at the query timeout of its pool, if the pool has one', async () => {
    const network = await startNetwork(await freshDatabase());
    const pool = poolOn(network.url, 1);
    pool.options.query_timeout = 1_000;
    const store = postgresStore({ pool });
    await store.append(creation('run'));
    network.lose();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const failed = vi.fn();
    const failure = store.append(addition('run', 1)).catch(failed);
    await vi.advanceTimersByTimeAsync(999);
    expect(failed).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    vi.useRealTimers();
    await failure;
    expect(failed).toHaveBeenCalledWith(expect.objectContaining({ code: 'store-failed', retryable: true }));
    await store.append(addition('run', 1));
    await store.close();
    await pool.end();
    network.close();
  });

  test('keeps neither a closed store nor its callers waiting', async () => {
    const network = await startNetwork(await freshDatabase());
    const store = postgresStore({ url: network.url, poolMax: 2 });
    await Promise.all([store.append(creation('run')), store.listRuns({ limit: 1 })]);
    network.lose();
    const failed = vi.fn();
    // This could take two minutes.
    void store.listRuns({ limit: 1 }).catch(failed);
    await expect.poll(() => network.asked()).toBe(true);
    await store.close();
    await expect.poll(() => failed).toHaveBeenCalledWith(expect.objectContaining({ code: 'store-failed' }));
    // As when the process ends: its connections are gone.
    await expect.poll(() => network.isUsed()).toBe(false);
    network.close();
  });

  test('is not kept for long by a store that notifies', async () => {
    const url = await freshDatabase();
    const network = await startNetwork(url);
    const watching = postgresStore(url);
    const stop = watching.watch(() => undefined);
    const watchers = poolOn(url, 1);
    await expect
      .poll(async () => (await watchers.query('SELECT FROM countersign_watcher').catch(() => undefined))?.rowCount)
      .toBe(1);
    const pool = poolOn(network.url, 1);
    const writing = postgresStore({ pool });
    await writing.due(1);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await writing.append(creation('run'));
    network.lose();
    // The store batches for a moment, then notifies, and gets no response.
    await vi.advanceTimersByTimeAsync(1_000);
    expect(pool.idleCount).toBe(0);
    await vi.advanceTimersByTimeAsync(10_000);
    vi.useRealTimers();
    expect(pool.totalCount).toBe(0);
    stop();
    await Promise.all([writing.close(), watching.close()]);
    await Promise.all([pool.end(), watchers.end()]);
    network.close();
  });

  test('is replaced by a store that watches', async () => {
    const url = await freshDatabase();
    const network = await startNetwork(url);
    const [watching, writing] = [postgresStore(network.url), postgresStore(url)];
    const heard = new Set<string>();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'], shouldAdvanceTime: true });
    const stop = watching.watch((runId) => heard.add(runId));
    await writing.append(creation('before'));
    await expect.poll(() => heard).toContain('before');
    // By then it has polled for the last time.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    network.lose();
    await writing.append(creation('after'));
    // It renews its watch and gets no response.
    await vi.advanceTimersByTimeAsync(20_000);
    await expect.poll(() => heard).toContain('after');
    stop();
    await Promise.all([watching.close(), writing.close()]);
    network.close();
  });
});

/** Forwards traffic to the server and back until it is lost. Later connections work. */
async function startNetwork(url: string) {
  const target = new URL(url);
  const open = new Set<{ readonly near: Socket; readonly far: Socket }>();
  let asked = false;
  const listener = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    const pair = { near, far };
    open.add(pair);
    near.pipe(far);
    far.pipe(near);
    for (const socket of [near, far]) socket.on('error', () => undefined);
    near.on('close', () => {
      far.destroy();
      open.delete(pair);
    });
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  return {
    url: url.replace(`:${target.port}/`, `:${port}/`),
    lose(): void {
      for (const { near, far } of open) {
        near.unpipe(far).resume();
        near.once('data', () => {
          asked = true;
        });
        far.unpipe(near).resume();
      }
    },
    /** Whether data was sent after the loss. */
    asked: (): boolean => asked,
    isUsed: (): boolean => open.size > 0,
    close(): void {
      listener.close();
      for (const { near } of open) near.destroy();
    },
  };
}
