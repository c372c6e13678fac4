// The store contract: one worker at a time holds a run, and runs without a holder are found.
import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import type { Append, ClaimHow } from '../../runs/port/store.ts';
import {
  addition,
  type Check,
  countDone,
  creation,
  LONG_MS,
  leavesNothing,
  load,
  pass,
  refused,
  stepDone,
} from './check.ts';

const SHORT_MS = 1;
/** After this a short claim has lapsed. */
const LAPSE_MS = 20;

function claim(how: ClaimHow, token: string, leaseMs = LONG_MS): Pick<Append, 'claim'> {
  return { claim: { how, token, leaseMs } };
}

export function claimContract(check: Check): void {
  check('a claim keeps other workers out until it is released', async ({ store }) => {
    await store.append(creation('run'));
    const claimed = await store.claim('run', 'me', LONG_MS);
    deepStrictEqual(claimed, await store.read('run'));
    strictEqual(await store.claim('run', 'other', LONG_MS), undefined);
    strictEqual(await store.renew('run', 'other', LONG_MS), false);
    await store.release('run', 'other');
    await store.release('no such run', 'me');
    strictEqual(await store.claim('run', 'other', LONG_MS), undefined);
    deepStrictEqual(await store.claim('run', 'me', LONG_MS), claimed);
    strictEqual(await store.renew('run', 'me', LONG_MS), true);
    await store.release('run', 'me');
    strictEqual(await store.renew('run', 'me', LONG_MS), false);
    deepStrictEqual(await store.claim('run', 'other', LONG_MS), claimed);
  });

  check('of twenty concurrent claims exactly one gets the run', async ({ store }) => {
    await store.append(creation('run'));
    const claims = await Promise.all(Array.from({ length: 20 }, (_, index) => store.claim('run', `${index}`, LONG_MS)));
    strictEqual(claims.filter((claimed) => claimed !== undefined).length, 1);
  });

  check('a lapsed claim can be taken over, and its old token is then refused', async (subject) => {
    const { store } = subject;
    await store.append(creation('run', claim('take', 'me', SHORT_MS)));
    await pass(subject, LAPSE_MS);
    strictEqual((await store.claim('run', 'other', LONG_MS))?.run.version, 1);
    strictEqual(await store.renew('run', 'me', LONG_MS), false);
    await leavesNothing(store, addition('run', 1, claim('hold', 'me')), 'claim-lost');
    await leavesNothing(store, addition('run', 1, claim('release', 'me')), 'claim-lost');
    await store.release('run', 'me');
    deepStrictEqual(await store.append(addition('run', 1, claim('hold', 'other'))), { claimed: true });
  });

  check('a lapsed claim that no worker took over still belongs to its token', async (subject) => {
    const { store } = subject;
    await store.append(creation('run', claim('take', 'me', SHORT_MS)));
    await pass(subject, LAPSE_MS);
    strictEqual(await store.renew('run', 'me', SHORT_MS), true);
    await pass(subject, LAPSE_MS);
    deepStrictEqual(await store.append(addition('run', 1, claim('hold', 'me'))), { claimed: true });
    strictEqual(await store.claim('run', 'other', LONG_MS), undefined);
  });

  check('renewing and holding extend the lease', async (subject) => {
    const { store } = subject;
    await store.append(creation('renewed', claim('take', 'me', SHORT_MS)));
    strictEqual(await store.renew('renewed', 'me', LONG_MS), true);
    await store.append(creation('held', claim('take', 'me', SHORT_MS)));
    await store.append(addition('held', 1, claim('hold', 'me')));
    await store.append(creation('shortened', claim('take', 'me')));
    await store.append(addition('shortened', 1, claim('hold', 'me', SHORT_MS)));
    await pass(subject, LAPSE_MS);
    strictEqual(await store.claim('renewed', 'other', LONG_MS), undefined);
    strictEqual(await store.claim('held', 'other', LONG_MS), undefined);
    strictEqual((await store.claim('shortened', 'other', LONG_MS))?.run.version, 2);
  });

  check('an append takes a free claim, and happens in any case', async (subject) => {
    const { store } = subject;
    deepStrictEqual(await store.append(creation('run', claim('take', 'me'))), { claimed: true });
    deepStrictEqual(await store.append(addition('run', 1, claim('take', 'other'))), { claimed: false });
    deepStrictEqual(await store.append(addition('run', 2, claim('take', 'me', SHORT_MS))), { claimed: true });
    await pass(subject, LAPSE_MS);
    deepStrictEqual(await store.append(addition('run', 3, claim('take', 'other'))), { claimed: true });
    deepStrictEqual(await store.append(addition('run', 4, claim('release', 'other'))), { claimed: false });
    deepStrictEqual(await store.append(addition('run', 5, claim('take', 'me'))), { claimed: true });
    strictEqual((await load(store, 'run')).run.version, 6);
  });

  check('an append without a claim ignores claims', async ({ store }) => {
    deepStrictEqual(await store.append(creation('run', claim('take', 'me'))), { claimed: true });
    deepStrictEqual(await store.append(addition('run', 1)), { claimed: false });
    strictEqual(await store.claim('run', 'other', LONG_MS), undefined);
    strictEqual(await store.renew('run', 'me', LONG_MS), true);
  });

  check('an append that must hold a claim is refused without one', async ({ store }) => {
    await store.append(creation('run'));
    await leavesNothing(store, addition('run', 1, claim('hold', 'me')), 'claim-lost');
    await leavesNothing(store, addition('run', 1, claim('release', 'me')), 'claim-lost');
    await refused(store.append(creation('new', claim('hold', 'me'))), 'claim-lost');
    strictEqual(await store.read('new'), undefined);
  });

  check('an append enters only a run without a holder', async (subject) => {
    const { store } = subject;
    deepStrictEqual(await store.append(creation('run', claim('enter', 'me'))), { claimed: true });
    await leavesNothing(store, addition('run', 1, claim('enter', 'other')), 'claim-lost');
    await leavesNothing(store, addition('run', 5, claim('enter', 'other')), 'claim-lost');
    await leavesNothing(store, addition('run', 5, claim('enter', 'me')), 'stale-version');
    deepStrictEqual(await store.append(addition('run', 1, claim('enter', 'me', SHORT_MS))), { claimed: true });
    await pass(subject, LAPSE_MS);
    deepStrictEqual(await store.append(addition('run', 2, claim('enter', 'other'))), { claimed: true });
    await leavesNothing(store, addition('run', 3, claim('hold', 'me')), 'claim-lost');
    await store.release('run', 'other');
    deepStrictEqual(await store.append(addition('run', 3, claim('enter', 'me'))), { claimed: true });
    strictEqual(await store.claim('run', 'other', LONG_MS), undefined);
  });

  check('an append passes through a run without a holder, and leaves it free', async (subject) => {
    const { store } = subject;
    deepStrictEqual(await store.append(creation('run', claim('pass', 'me'))), { claimed: false });
    strictEqual(await store.renew('run', 'me', LONG_MS), false);
    deepStrictEqual(await store.append(addition('run', 1, claim('pass', 'me'))), { claimed: false });
    await store.claim('run', 'other', SHORT_MS);
    await store.renew('run', 'other', LONG_MS);
    await leavesNothing(store, addition('run', 2, claim('pass', 'me')), 'claim-lost');
    deepStrictEqual(await store.append(addition('run', 2, claim('pass', 'other'))), { claimed: false });
    await store.claim('run', 'other', SHORT_MS);
    await pass(subject, LAPSE_MS);
    deepStrictEqual(await store.append(addition('run', 3, claim('pass', 'me'))), { claimed: false });
    strictEqual(await store.renew('run', 'other', LONG_MS), false);
    strictEqual((await store.claim('run', 'third', LONG_MS))?.run.version, 4);
  });

  check('of twenty concurrent entries exactly one gets the run', async ({ store }) => {
    await store.append(creation('run'));
    const appends = Array.from({ length: 20 }, (_, index) =>
      store.append(addition('run', 1, claim('enter', `${index}`))),
    );
    const codes = (await Promise.allSettled(appends)).map((done) =>
      done.status === 'fulfilled' ? 'done' : (done.reason as { code?: unknown }).code,
    );
    strictEqual(codes.filter((code) => code === 'done').length, 1);
    strictEqual(codes.filter((code) => code === 'claim-lost').length, 19);
  });

  check('an append by another caller is a stale version to the holder of the claim', async ({ store }) => {
    await store.append(creation('run', claim('take', 'me')));
    await store.append(addition('run', 1, { events: [stepDone('decided meanwhile')] }));
    await leavesNothing(store, addition('run', 1, claim('hold', 'me')), 'stale-version');
    await leavesNothing(store, addition('run', 1, claim('release', 'me')), 'stale-version');
    const appends = Array.from({ length: 10 }, () => store.append(addition('run', 2, claim('hold', 'me'))));
    strictEqual(await countDone(appends, 'stale-version'), 1);
  });

  for (const how of ['take', 'enter', 'pass', 'hold', 'release'] as const) {
    check(`an append at a wrong version does nothing, not even to the claim: ${how}`, async (subject) => {
      const { store } = subject;
      const events = [stepDone('0'), stepDone('1')];
      const refusesAll = async (runId: string, token: string): Promise<void> => {
        for (const version of [0, 1, 3, 9]) {
          await leavesNothing(store, addition(runId, version, claim(how, token)), 'stale-version');
        }
      };
      // Neither given up nor renewed.
      await store.append(creation('held', { events, ...claim('take', 'me') }));
      await store.append(creation('lapsing', { events, ...claim('take', 'me', SHORT_MS) }));
      for (const runId of ['held', 'lapsing']) await refusesAll(runId, 'me');
      strictEqual(await store.claim('held', 'other', LONG_MS), undefined);
      await pass(subject, LAPSE_MS);
      strictEqual((await store.claim('lapsing', 'other', LONG_MS))?.run.version, 2);
      if (how === 'hold' || how === 'release') return;
      await store.append(creation('free', { events }));
      await refusesAll('free', 'me');
      strictEqual((await store.claim('free', 'other', LONG_MS))?.run.version, 2);
    });
  }

  check('a claim that another worker took and released is no longer held by the first', async (subject) => {
    const { store } = subject;
    await store.append(creation('run', claim('take', 'me', SHORT_MS)));
    await pass(subject, LAPSE_MS);
    await store.claim('run', 'other', LONG_MS);
    await store.release('run', 'other');
    strictEqual(await store.renew('run', 'me', LONG_MS), false);
    await leavesNothing(store, addition('run', 1, claim('hold', 'me')), 'claim-lost');
    await leavesNothing(store, addition('run', 1, claim('release', 'me')), 'claim-lost');
  });

  check('a run can be claimed, held and appended to in any status', async ({ store }) => {
    for (const status of ['running', 'waiting', 'done', 'failed', 'cancelled'] as const) {
      await store.append(creation(status, { status, ...claim('take', 'me') }));
      await store.append(addition(status, 1, { status }));
      strictEqual(await store.claim(status, 'other', LONG_MS), undefined, status);
      deepStrictEqual(await store.append(addition(status, 2, { status, ...claim('hold', 'me') })), { claimed: true });
      await store.release(status, 'me');
      strictEqual((await store.claim(status, 'other', LONG_MS))?.run.version, 3, status);
    }
  });

  check('a running run is due since it began to run, whatever its wake time', async (subject) => {
    const { store } = subject;
    const wakeAt = (await store.now()) + LONG_MS;
    await store.append(creation('first', { wakeAt }));
    await pass(subject, LAPSE_MS);
    await store.append(creation('second'));
    await pass(subject, LAPSE_MS);
    await store.append(addition('first', 1, { wakeAt }));
    deepStrictEqual(await store.due(10), ['first', 'second']);
  });

  check('due runs can be limited to some agents', async (subject) => {
    const { store } = subject;
    for (const agent of ['clerk', 'agent', 'Agent', 'agent%', 'a"b']) {
      await store.append(creation(`of ${agent}`, { create: { id: `of ${agent}`, agent, startedBy: null } }));
      await pass(subject, LAPSE_MS);
    }
    deepStrictEqual(await store.due(1, ['agent']), ['of agent']);
    deepStrictEqual(await store.due(10, ['a"b', 'clerk', 'nobody']), ['of clerk', 'of a"b']);
    deepStrictEqual(await store.due(10, []), []);
    strictEqual((await store.due(10)).length, 5);
  });

  check('when a claim lapses, the run is due and can be claimed', async ({ store, advance }) => {
    // Where the clock runs by itself, there is no such moment to be met.
    if (advance === undefined) return;
    await store.append(creation('run', claim('take', 'me', 100)));
    await advance(99);
    deepStrictEqual(await store.due(10), []);
    strictEqual(await store.claim('run', 'other', LONG_MS), undefined);
    await advance(1);
    deepStrictEqual(await store.due(10), ['run']);
    strictEqual((await store.claim('run', 'other', LONG_MS))?.run.version, 1);
  });

  check('a running run without a holder is due', async (subject) => {
    const { store } = subject;
    await store.append(creation('held', claim('take', 'me')));
    await store.append(creation('lapsed', claim('take', 'me', SHORT_MS)));
    for (const status of ['waiting', 'done', 'failed', 'cancelled'] as const) {
      await store.append(creation(status, { status }));
    }
    await pass(subject, LAPSE_MS);
    await store.append(creation('free'));
    deepStrictEqual(await store.due(10), ['lapsed', 'free']);
    deepStrictEqual(await store.due(1), ['lapsed']);
    await store.release('held', 'me');
    await store.claim('lapsed', 'me', LONG_MS);
    await store.append(addition('free', 1, { status: 'done' }));
    deepStrictEqual(await store.due(10), ['held']);
    await store.append(addition('waiting', 1, { status: 'running', ...claim('take', 'me') }));
    deepStrictEqual(await store.due(10), ['held']);
    await store.append(addition('waiting', 2, { status: 'running', ...claim('release', 'me') }));
    deepStrictEqual(await store.due(10), ['held', 'waiting']);
  });

  check('a failed run is due at the deadline of a pending interrupt', async (subject) => {
    const { store } = subject;
    const now = await store.now();
    await store.append(creation('new', { status: 'failed', wakeAt: now - 5 }));
    await store.append(creation('old', { wakeAt: now - 9 }));
    await store.append(addition('old', 1, { status: 'failed', wakeAt: now - 9 }));
    await store.append(creation('later', { status: 'failed', wakeAt: now + LONG_MS }));
    await store.append(creation('never', { status: 'failed', wakeAt: null }));
    deepStrictEqual(await store.due(10), ['old', 'new']);
  });

  check('a waiting run is due at its wake time, unless it is held or has ended', async (subject) => {
    const { store } = subject;
    const now = await store.now();
    await store.append(creation('past', { status: 'waiting', wakeAt: now - 5 }));
    await store.append(creation('later', { status: 'waiting', wakeAt: now + LONG_MS }));
    await store.append(creation('ended', { status: 'done', wakeAt: now - 5 }));
    await store.append(creation('put off', { status: 'waiting', wakeAt: now - 5 }));
    await store.append(addition('put off', 1, { status: 'waiting', wakeAt: now + LONG_MS }));
    await store.append(creation('called off', { status: 'waiting', wakeAt: now - 5 }));
    await store.append(addition('called off', 1, { status: 'waiting', wakeAt: null }));
    deepStrictEqual(await store.due(10), ['past']);
    await store.append(creation('soon', { status: 'waiting', wakeAt: (await store.now()) + LAPSE_MS }));
    await pass(subject, LAPSE_MS);
    deepStrictEqual(await store.due(10), ['past', 'soon']);
    await store.claim('past', 'me', LONG_MS);
    deepStrictEqual(await store.due(10), ['soon']);
  });
}
