// The store contract: a run that has ended can be deleted, with everything in it but its id.
import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import type { RunStatus, Store } from '../../runs/port/store.ts';
import {
  addition,
  type Check,
  claim,
  codesOf,
  creation,
  ids,
  LONG_MS,
  leavesNothing,
  listed,
  pass,
  request,
  settling,
} from './check.ts';
import { until } from './watch.ts';

/** Makes a run with a settled and a pending request, both with labels. */
async function endedRun(store: Store, runId: string, status: RunStatus = 'done'): Promise<void> {
  const opened = [`${runId}.settled`, `${runId}.pending`].map((id) =>
    request(id, runId, { labels: ['money', 'urgent', 'money'] }),
  );
  await store.append(creation(runId, { status: 'waiting', opened, wakeAt: 5 }));
  const approval = settling({ decision: { type: 'approve' } }, `${runId}.settled`);
  await store.append(addition(runId, 1, { status, ...approval }));
}

export function deleteContract(check: Check): void {
  check('only the ended run is deleted, with its events and requests', async ({ store }) => {
    for (const runId of ['one', 'two', 'twofold']) await endedRun(store, runId);
    const others = await Promise.all(['one', 'twofold'].map((id) => store.read(id)));
    strictEqual(await store.delete('two'), true);
    strictEqual(await store.delete('two'), false);
    strictEqual(await store.read('two'), undefined);
    strictEqual(await store.claim('two', 'me', LONG_MS), undefined);
    strictEqual(await store.renew('two', 'me', LONG_MS), false);
    deepStrictEqual(await Promise.all(['one', 'twofold'].map((id) => store.read(id))), others);
    deepStrictEqual(ids((await store.listRuns({ limit: 10, order: 'oldest' })).items), ['one', 'twofold']);
    for (const kind of ['settled', 'pending']) {
      strictEqual(await store.request(`two.${kind}`), undefined);
      for (const query of [{}, { label: 'money' }, { search: 'tool' }]) {
        const found = await listed(store, { settled: kind === 'settled', ...query });
        deepStrictEqual(found, [`one.${kind}`, `twofold.${kind}`], JSON.stringify(query));
      }
      deepStrictEqual(await listed(store, { settled: kind === 'settled', runId: 'two' }), []);
    }
    strictEqual((await store.countRuns()).done, 2);
    const { decided, waiting } = await store.stats({ since: 0 });
    deepStrictEqual([decided, waiting], [2, 2]);
    const untold = ids(((await store.takeUntold?.(9, LONG_MS)) ?? []).map((taken) => taken.request));
    strictEqual(
      untold.some((id) => id.startsWith('two.')),
      false,
    );
    deepStrictEqual(await store.due(10), []);
  });

  check('a run that has not ended is not deleted', async ({ store }) => {
    for (const status of ['running', 'waiting', 'failed'] as const) {
      await endedRun(store, status, status);
      const before = await store.read(status);
      strictEqual(await store.delete(status), false);
      deepStrictEqual(await store.read(status), before);
    }
    await endedRun(store, 'cancelled', 'cancelled');
    strictEqual(await store.delete('cancelled'), true);
    strictEqual(await store.delete('none'), false);
    strictEqual(await store.delete('a\0b'), false);
  });

  check('a claimed run is not deleted until the claim has lapsed', async (subject) => {
    const { store } = subject;
    await endedRun(store, 'run');
    await store.claim('run', 'me', LONG_MS);
    strictEqual(await store.delete('run'), false);
    await store.claim('run', 'me', 1);
    await pass(subject, 20);
    strictEqual(await store.delete('run'), true);
    strictEqual(await store.renew('run', 'me', LONG_MS), false);
  });

  check('the id of a deleted run cannot be used again', async ({ store }) => {
    await endedRun(store, 'run');
    await store.delete('run');
    const opened = [request('run.settled', 'run')];
    await leavesNothing(store, creation('run', { opened }), 'run-deleted', ['run.settled']);
    for (const version of [0, 2]) await leavesNothing(store, addition('run', version), 'stale-version');
    await leavesNothing(store, addition('run', 2, claim('enter', 'me')), 'stale-version');
  });

  check('a run is deleted or continued, never both', async ({ store, another }) => {
    const elsewhere = (await another?.()) ?? store;
    for (let round = 0; round < 20; round += 1) {
      const runId = `run-${round}`;
      await endedRun(store, runId);
      const next = addition(runId, 2, { status: round % 2 === 0 ? 'running' : 'done' });
      const [deleted, [code]] = await Promise.all([store.delete(runId), codesOf([elsewhere.append(next)])]);
      const appended = code === 'done';
      const loaded = await store.read(runId);
      // A run that continued and ended again can be deleted after that.
      const isOverAgain = appended && next.status === 'done';
      if (loaded === undefined) deepStrictEqual([deleted, appended], [true, isOverAgain]);
      else deepStrictEqual([deleted, appended, loaded.events.length], [false, true, 3]);
      strictEqual((await store.request(`${runId}.settled`)) === undefined, deleted);
    }
  });

  check('watchers are notified of a deletion', async ({ store, another }) => {
    await endedRun(store, 'run');
    const elsewhere = (await another?.()) ?? store;
    let isGone = false;
    const stop = elsewhere.watch((runId) => {
      if (runId === 'run') void elsewhere.read(runId).then((loaded) => (isGone ||= loaded === undefined));
    });
    await store.delete('run');
    await until(() => isGone, 'No notified watcher found the run deleted.');
    stop();
  });
}
