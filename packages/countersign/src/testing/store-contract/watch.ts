// The store contract: watchers are notified of appends, even by other processes, and several stores share the same data.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Store } from '../../runs/port/store.ts';
import { addition, type Check, countDone, creation, LONG_MS, pausedRun, request, settling } from './check.ts';

/** A watcher is notified within this time. */
const PATIENCE_MS = 10_000;

/** Watches a store. `heard` resolves when a run was reported, and forgets it. */
function listenTo(store: Store): {
  readonly heard: (runId: string) => Promise<void>;
  readonly stop: () => void;
  readonly all: Set<string>;
} {
  const all = new Set<string>();
  const stop = store.watch((runId) => void all.add(runId));
  const heard = async (runId: string): Promise<void> => {
    await until(() => all.has(runId), `No watcher was notified of ${runId}.`);
    all.delete(runId);
  };
  return { heard, stop, all };
}

export async function until(isSo: () => boolean, otherwise: string): Promise<void> {
  for (const started = performance.now(); !isSo(); await delay(5)) {
    ok(performance.now() - started < PATIENCE_MS, otherwise);
  }
}

export function watchContract(check: Check): void {
  check('every watcher is notified of each append until it stops, even if another throws', async ({ store }) => {
    const stopFailing = store.watch(() => {
      throw new Error('a mistake of the watcher');
    });
    const first = listenTo(store);
    const second = listenTo(store);
    for (const append of [creation('one'), addition('one', 1)]) {
      await store.append(append);
      await Promise.all([first.heard('one'), second.heard('one')]);
    }
    first.stop();
    first.stop();
    await store.append(creation('two'));
    await second.heard('two');
    strictEqual(first.all.has('two'), false);
    second.stop();
    stopFailing();
  });

  check('a notified watcher can read the append', async ({ store, another }) => {
    const stores = another === undefined ? [store] : [store, await another()];
    for (const [index, watched] of stores.entries()) {
      const runId = `run-${index}`;
      const seen: (number | undefined)[] = [];
      const stop = watched.watch((id) => {
        if (id === runId) void watched.read(id).then((loaded) => seen.push(loaded?.run.version));
      });
      for (let version = 0; version < 5; version += 1) {
        await store.append(version === 0 ? creation(runId) : addition(runId, version));
        const found = (): boolean => seen.includes(version + 1);
        await until(found, `No notified watcher could read version ${version + 1} of ${runId}.`);
      }
      stop();
      ok(!seen.includes(undefined), 'A watcher was notified before the run could be read.');
    }
  });

  check('migrate and close can be called twice', async ({ store }) => {
    await Promise.all([store.migrate(), store.migrate()]);
    await store.append(creation('one'));
    await store.migrate();
    strictEqual((await store.read('one'))?.run.version, 1);
    const stop = store.watch(() => {});
    await store.close();
    await store.close();
    stop();
  });

  check('two stores on the same data see the same, and exactly one of two appends wins', async ({ store, another }) => {
    if (another === undefined) return;
    const other = await another();
    const { heard, stop } = listenTo(other);
    await pausedRun(store, 'run', [request('question', 'run', { labels: ['red'] })]);
    await heard('run');
    deepStrictEqual(await other.read('run'), await store.read('run'));
    deepStrictEqual(await other.listRequests({ limit: 5, label: 'red' }), await store.listRequests({ limit: 5 }));
    for (let version = 1; version <= 20; version += 1) {
      const appends = [store, other, store, other].map((each) => each.append(addition('run', version)));
      strictEqual(await countDone(appends, 'stale-version'), 1);
    }
    ok((await store.claim('run', 'me', LONG_MS)) !== undefined);
    strictEqual(await other.claim('run', 'you', LONG_MS), undefined);
    await other.append(addition('run', 21, settling('so', 'question')));
    strictEqual((await store.request('question'))?.settlement, 'so');
    stop();
  });
}
