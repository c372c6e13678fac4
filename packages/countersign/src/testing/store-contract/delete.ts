// The store contract: a run that has ended can be deleted, with everything in it but its id.
import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunStatus, Store } from '../../runs/port/store.ts';
import { addition, type Check, countDone, creation, ids, interrupt, LONG_MS, pass, refused } from './check.ts';
import { listenTo, until } from './watch.ts';

/** A run with a settled question that has labels. */
async function endedRun(store: Store, runId: string, status: RunStatus = 'done'): Promise<void> {
  const question = interrupt(`${runId}.question`, runId, { labels: ['money', 'urgent', 'money'], remindAt: 1_000 });
  await store.append(creation(runId, { status: 'waiting', opened: [question], wakeAt: 5 }));
  const settled = [{ id: question.id, settlement: { decision: { type: 'approve' } } }];
  await store.append(addition(runId, 1, { status, settled }));
}

export function deleteContract(check: Check): void {
  check('only the ended run is deleted, with its events and interrupts', async ({ store }) => {
    for (const runId of ['one', 'two', 'twofold']) await endedRun(store, runId);
    const others = await Promise.all(['one', 'twofold'].map((id) => store.read(id)));
    strictEqual(await store.delete('two'), true);
    strictEqual(await store.delete('two'), false);
    strictEqual(await store.read('two'), undefined);
    strictEqual(await store.read('two', { after: 0, limit: 1 }), undefined);
    strictEqual(await store.interrupt('two.question'), undefined);
    strictEqual(await store.claim('two', 'me', LONG_MS), undefined);
    strictEqual(await store.renew('two', 'me', LONG_MS), false);
    deepStrictEqual(await Promise.all(['one', 'twofold'].map((id) => store.read(id))), others);
    deepStrictEqual(ids((await store.listRuns({ limit: 10, order: 'oldest' })).items), ['one', 'twofold']);
    const left = ['one.question', 'twofold.question'];
    for (const query of [{}, { label: 'money' }, { search: 'tool' }, { outcome: 'approved' }] as const) {
      deepStrictEqual(ids((await store.listInterrupts({ settled: true, limit: 10, ...query })).items), left);
    }
    deepStrictEqual(await store.listInterrupts({ settled: true, runId: 'two', limit: 10 }), {
      ...{ items: [], cursor: null },
    });
    deepStrictEqual(await store.countRuns(), { running: 0, waiting: 0, done: 2, failed: 0, cancelled: 0 });
    strictEqual((await store.stats({ since: 0 })).decided, 2);
    deepStrictEqual(await store.takeReminders(10, LONG_MS), []);
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

  check('a pending interrupt of the run is deleted too', async ({ store }) => {
    for (const runId of ['one', 'two']) {
      const remindAt = runId === 'one' ? 1_000 : 2_000;
      const opened = [interrupt(`${runId}.question`, runId, { labels: ['money'], remindAt })];
      await store.append(creation(runId, { status: 'cancelled', opened }));
    }
    strictEqual(await store.delete('one'), true);
    strictEqual(await store.interrupt('one.question'), undefined);
    for (const query of [{}, { label: 'money' }, { search: 'tool' }]) {
      deepStrictEqual(ids((await store.listInterrupts({ limit: 10, ...query })).items), ['two.question']);
    }
    strictEqual((await store.stats({ since: 0 })).waiting, 1);
    const reminders = await store.takeReminders(1, LONG_MS);
    deepStrictEqual(ids(reminders.map((taken) => taken.interrupt)), ['two.question']);
    await refused(store.append(creation('three', { opened: [interrupt('two.question', 'three')] })), 'invariant');
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
    await refused(store.append(creation('run')), 'run-deleted');
    const opened = [interrupt('run.question', 'run')];
    const again = Array.from({ length: 10 }, () => store.append(creation('run', { opened })));
    strictEqual(await countDone(again, 'run-deleted'), 0);
    await refused(store.append(addition('run', -1)), 'invalid-options');
    for (const version of [0, 1, 2]) await refused(store.append(addition('run', version)), 'stale-version');
    const held = { claim: { how: 'enter', token: 'me', leaseMs: LONG_MS } } as const;
    await refused(store.append(addition('run', 2, held)), 'stale-version');
    strictEqual(await store.read('run'), undefined);
    strictEqual(await store.interrupt('run.question'), undefined);
    await store.append(creation('other', { opened: [interrupt('other.question', 'other')] }));
  });

  check('a run is deleted or continued, never both', async ({ store, another }) => {
    const elsewhere = (await another?.()) ?? store;
    for (let round = 0; round < 20; round += 1) {
      const runId = `run-${round}`;
      await endedRun(store, runId);
      const goOn = addition(runId, 2, { status: round % 2 === 0 ? 'running' : 'done' });
      const [deleted, appended] = await Promise.all([
        store.delete(runId),
        elsewhere.append(goOn).then(
          () => true,
          () => false,
        ),
      ]);
      const loaded = await store.read(runId);
      // One that went on and has ended again may have been deleted after that.
      const isOverAgain = appended && goOn.status === 'done';
      if (loaded === undefined) deepStrictEqual([deleted, appended], [true, isOverAgain]);
      else deepStrictEqual([deleted, appended, loaded.events.length], [false, true, 3]);
      strictEqual((await store.interrupt(`${runId}.question`)) === undefined, deleted);
    }
    if (elsewhere !== store) await elsewhere.close();
  });

  check('lists continue after a deleted run, and its place is not reused', async ({ store }) => {
    for (const runId of ['a', 'b', 'c', 'd']) await endedRun(store, runId);
    const runs = await store.listRuns({ order: 'oldest', limit: 2 });
    const questions = await store.listInterrupts({ settled: true, limit: 2 });
    await store.delete('b');
    await store.delete('d');
    await endedRun(store, 'e');
    const after = { limit: 10 };
    const next = await store.listRuns({ order: 'oldest', ...after, ...(runs.cursor && { after: runs.cursor }) });
    deepStrictEqual(ids(next.items), ['c', 'e']);
    const asked = await store.listInterrupts({
      ...{ settled: true, ...after },
      ...(questions.cursor && { after: questions.cursor }),
    });
    deepStrictEqual(ids(asked.items), ['c.question', 'e.question']);
    deepStrictEqual(ids((await store.listRuns({ limit: 10 })).items), ['e', 'c', 'a']);
  });

  check('watchers are notified of a deletion, and of later changes', async ({ store, another }) => {
    const elsewhere = (await another?.()) ?? store;
    const { heard, all, stop } = listenTo(elsewhere);
    await endedRun(store, 'run');
    await heard('run');
    // A store that looks from time to time has heard of both appends by then.
    await delay(500);
    all.clear();
    let isGone = false;
    const stopReading = elsewhere.watch((runId) => {
      if (runId === 'run') void elsewhere.read(runId).then((loaded) => (isGone ||= loaded === undefined));
    });
    await store.delete('run');
    await heard('run');
    await until(() => isGone, 'Nobody who heard of the run found it gone.');
    stopReading();
    await store.append(creation('next'));
    await heard('next');
    stop();
    if (elsewhere !== store) await elsewhere.close();
  });
}
