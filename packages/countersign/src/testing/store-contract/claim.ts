// The store contract: one worker at a time holds a run, and runs without a holder are found.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import type { ErrorCode } from '../../core/errors.ts';
import type { Append, ClaimHow, RunStatus } from '../../runs/port/store.ts';
import {
  addition,
  type Check,
  claim,
  countDone,
  creation,
  LONG_MS,
  leavesNothing,
  pass,
  type StoreUnderTest,
  stepDone,
} from './check.ts';

const SHORT_MS = 1;
/** After this a short claim has lapsed. */
const LAPSE_MS = 20;

const STATUSES: readonly RunStatus[] = ['running', 'waiting', 'done', 'failed', 'cancelled'];

/**
 * What workers do to a run, step by step, with the expected results. A step names the worker, then a method or an
 * append, `short` for a short lease, and the result: `yes` if the worker holds the claim afterwards, `no`, or an error code.
 */
const STORIES: Readonly<Record<string, string>> = {
  'a claim keeps other workers out until it is released': `
    me append: no, me claim: yes, other claim: no, other renew: no, other release, other claim: no,
    me claim: yes, me renew: yes, me release, me renew: no, other claim: yes`,
  'a lapsed claim can be taken over, and its old token is then refused': `
    me take short: yes, lapse, other claim: yes, me renew: no, me hold: claim-lost, me append-release: claim-lost,
    me release, other hold: yes`,
  'a lapsed claim that no worker took over still belongs to its token': `
    me take short: yes, lapse, me renew short: yes, lapse, me hold: yes, other claim: no`,
  'a claim that another worker took and released is no longer held by the first': `
    me take short: yes, lapse, other claim: yes, other release, me renew: no, me hold: claim-lost,
    me append-release: claim-lost`,
  'renewing extends the lease': 'me take short: yes, me renew: yes, lapse, other claim: no',
  'holding extends the lease': 'me take short: yes, me hold: yes, lapse, other claim: no',
  'holding can shorten the lease': 'me take: yes, me hold short: yes, lapse, other claim: yes',
  'an append takes a free claim, and happens in any case': `
    me take: yes, other take: no, me take short: yes, lapse, other take: yes, other append-release: no, me take: yes`,
  'an append without a claim ignores claims': 'me take: yes, me append: no, other claim: no, me renew: yes',
  'an append that must hold a claim is refused without one': `
    me hold: claim-lost, me append: no, me hold: claim-lost, me append-release: claim-lost`,
  'an append enters only a run without a holder': `
    me enter: yes, other enter: claim-lost, me enter short: yes, lapse, other enter: yes, me hold: claim-lost,
    other release, me enter: yes, other claim: no`,
  'an append passes through a run without a holder, and leaves it free': `
    me pass: no, me renew: no, me pass: no, other claim: yes, me pass: claim-lost, other pass: no, other claim short: yes,
    lapse, me pass: no, other renew: no, third claim: yes`,
};

export function claimContract(check: Check): void {
  for (const [name, story] of Object.entries(STORIES)) check(name, (subject) => follow(subject, story));

  check('a run can be claimed, held and appended to in any status', async (subject) => {
    const story = 'me take: yes, me append: no, other claim: no, me hold: yes, me release, other claim: yes';
    for (const status of STATUSES) await follow(subject, story, status);
  });

  check('of twenty concurrent claims or entries exactly one gets the run', async ({ store }) => {
    for (const runId of ['claimed', 'entered']) await store.append(creation(runId));
    const workers = Array.from({ length: 20 }, (_, index) => `${index}`);
    const claims = await Promise.all(workers.map((token) => store.claim('claimed', token, LONG_MS)));
    strictEqual(claims.filter((claimed) => claimed !== undefined).length, 1);
    const entries = workers.map((token) => store.append(addition('entered', 1, claim('enter', token))));
    strictEqual(await countDone(entries, 'claim-lost'), 1);
  });

  check('an append by another caller is a stale version to the holder of the claim', async ({ store }) => {
    await store.append(creation('run', claim('take', 'me')));
    await store.append(addition('run', 1));
    await leavesNothing(store, addition('run', 1, claim('hold', 'me')), 'stale-version');
    // Without the claim, its loss is reported first.
    await leavesNothing(store, addition('run', 1, claim('enter', 'other')), 'claim-lost');
  });

  for (const how of ['take', 'enter', 'pass', 'hold', 'release'] as const) {
    check(`an append at a wrong version does nothing, not even to the claim: ${how}`, async (subject) => {
      const { store } = subject;
      const events = [stepDone('0'), stepDone('1')];
      // The claim is neither released nor renewed.
      await store.append(creation('held', { events, ...claim('take', 'me') }));
      await store.append(creation('lapsing', { events, ...claim('take', 'me', SHORT_MS) }));
      await store.append(creation('free', { events }));
      const needsClaim = how === 'hold' || how === 'release';
      for (const runId of ['held', 'lapsing', ...(needsClaim ? [] : ['free'])]) {
        for (const version of [0, 1, 3, 9]) {
          await leavesNothing(store, addition(runId, version, claim(how, 'me')), 'stale-version');
        }
      }
      strictEqual(await store.claim('held', 'other', LONG_MS), undefined);
      await pass(subject, LAPSE_MS);
      for (const runId of ['lapsing', 'free']) {
        strictEqual((await store.claim(runId, 'other', LONG_MS))?.run.version, 2);
      }
    });
  }

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
    deepStrictEqual(await store.due(10, ['a"b', 'clerk', 'unknown']), ['of clerk', 'of a"b']);
    deepStrictEqual(await store.due(10, []), []);
    strictEqual((await store.due(10)).length, 5);
  });

  check('a running run without a holder is due', async (subject) => {
    const { store } = subject;
    await store.append(creation('held', claim('take', 'me')));
    await store.append(creation('lapsed', claim('take', 'me', SHORT_MS)));
    for (const status of STATUSES.slice(1)) await store.append(creation(status, { status }));
    await pass(subject, LAPSE_MS);
    await store.append(creation('free'));
    deepStrictEqual(await store.due(10), ['lapsed', 'free']);
    deepStrictEqual(await store.due(1), ['lapsed']);
    await store.release('held', 'me');
    await store.claim('lapsed', 'me', LONG_MS);
    await store.append(addition('free', 1, { status: 'done' }));
    await store.append(addition('waiting', 1, { status: 'running', ...claim('take', 'me') }));
    deepStrictEqual(await store.due(10), ['held']);
    await store.append(addition('waiting', 2, { status: 'running', ...claim('release', 'me') }));
    deepStrictEqual(await store.due(10), ['held', 'waiting']);
  });

  check('the queue counts due and driven runs by agent, and says since when the oldest is due', async (subject) => {
    const { store } = subject;
    deepStrictEqual(await store.queue(), []);
    const of = (agent: string, runId: string, given: Partial<Append> = {}): Promise<unknown> =>
      store.append(creation(runId, { create: { id: runId, agent, startedBy: null }, ...given }));
    const before = await store.now();
    await of('clerk', 'first');
    const between = await store.now();
    await pass(subject, LAPSE_MS);
    await of('clerk', 'second');
    await of('clerk', 'held', claim('take', 'me'));
    await of('Clerk', 'driven', claim('take', 'me'));
    await of('later', 'later', { status: 'waiting', wakeAt: between + LONG_MS });
    for (const status of STATUSES.slice(1)) await of('resting', status, { status });
    const [other, clerk, ...rest] = await store.queue();
    deepStrictEqual(rest, []);
    deepStrictEqual(other, { agent: 'Clerk', due: 0, dueSince: null, claimed: 1 });
    deepStrictEqual({ ...clerk, dueSince: null }, { agent: 'clerk', due: 2, dueSince: null, claimed: 1 });
    const since = clerk?.dueSince ?? 0;
    ok(since >= before && since <= between, `The first run is due since ${before} to ${between}, not since ${since}.`);
  });

  check('a waiting or failed run is due from its wake time on, unless it is held', async (subject) => {
    const { store } = subject;
    const now = await store.now();
    for (const status of ['waiting', 'failed'] as const) {
      await store.append(creation(`new ${status}`, { status, wakeAt: now - 5 }));
      await store.append(creation(`old ${status}`));
      await store.append(addition(`old ${status}`, 1, { status, wakeAt: now - 9 }));
      for (const wakeAt of [now + LONG_MS, null]) {
        await store.append(creation(`${status} ${wakeAt}`, { status, wakeAt: now - 5 }));
        await store.append(addition(`${status} ${wakeAt}`, 1, { status, wakeAt }));
      }
      const due = await store.due(10);
      deepStrictEqual(due, [`old ${status}`, `new ${status}`]);
      for (const runId of due) await store.claim(runId, 'me', LONG_MS);
      deepStrictEqual(await store.due(10), []);
    }
    await store.append(creation('ended', { status: 'done', wakeAt: now - 5 }));
    await store.append(creation('soon', { status: 'waiting', wakeAt: (await store.now()) + LAPSE_MS }));
    await pass(subject, LAPSE_MS);
    deepStrictEqual(await store.due(10), ['soon']);
  });
}

/** Plays a story on a new run. The first append creates it; a refused append changes nothing. */
async function follow(subject: StoreUnderTest, story: string, status: RunStatus = 'running'): Promise<void> {
  const { store } = subject;
  const runId = `run-${status}`;
  let version = 0;
  const append = async (how: string, token: string, leaseMs: number, result: string): Promise<string> => {
    const claimed = how === 'append' ? {} : claim(how as ClaimHow, token, leaseMs);
    const change =
      version === 0 ? creation(runId, { status, ...claimed }) : addition(runId, version, { status, ...claimed });
    if (result !== 'yes' && result !== 'no') {
      await leavesNothing(store, change, result as ErrorCode);
      return result;
    }
    const appended = await store.append(change);
    version += 1;
    return appended.claimed ? 'yes' : 'no';
  };
  const act = async (what: string, token: string, leaseMs: number, result: string): Promise<string> => {
    if (what === 'append-release') return append('release', token, leaseMs, result);
    if (what === 'renew') return (await store.renew(runId, token, leaseMs)) ? 'yes' : 'no';
    if (what === 'release') return (await store.release(runId, token)) ?? '';
    if (what !== 'claim') return append(what, token, leaseMs, result);
    const loaded = await store.claim(runId, token, leaseMs);
    if (loaded !== undefined) deepStrictEqual(loaded, await store.read(runId));
    return loaded === undefined ? 'no' : 'yes';
  };
  for (const step of story.trim().split(/,\s+/)) {
    if (step === 'lapse') {
      await pass(subject, LAPSE_MS);
      continue;
    }
    const [, token = '', what = '', short, result = ''] = /^(\w+) ([\w-]+)( short)?(?:: ([\w-]+))?$/.exec(step) ?? [];
    ok(token !== '', `Invalid step: ${step}`);
    strictEqual(await act(what, token, short === undefined ? LONG_MS : SHORT_MS, result), result, step);
  }
  strictEqual((await store.read(runId))?.run.version, version);
}
