// A process that drives a run while another interferes: it stops the work it may not finish, and completes the work
// that only it can do.
import { countersign, memoryStore, type Runs, z } from 'countersign';
import { internalsOf, type Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { afterStarts, changedStore } from '../changed-store.ts';

type Step = <T extends string>(name: string, work: () => T) => Promise<T>;
type Body = (signal: AbortSignal, step: Step, context: unknown) => Promise<string>;

function bank(store: Store, body: Body, { needsApproval = true } = {}) {
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'pay', input: { amount: 5 } }] },
  );
  const ai = countersign({ model, store, leaseMs: 60_000, retry: false });
  const inputSchema = z.object({ amount: z.number() });
  const pay = ai.defineTool({ name: 'pay', description: '', inputSchema, needsApproval }, (_input, ctx) =>
    body(ctx.signal, ctx.step, ctx.context),
  );
  return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
}

describe('a claim of a minute', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  /** Lets so many thirds of the claim pass. It is renewed as often. */
  async function pass(thirds: number): Promise<void> {
    for (let third = 0; third < thirds; third += 1) {
      vi.advanceTimersByTime(20_000);
      await new Promise(setImmediate);
    }
  }

  test('aborts the body once it is lost', async () => {
    const lost = changedStore(memoryStore(), { renew: async () => false });
    const [begun, aborted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const body: Body = async (signal) => {
      signal.addEventListener('abort', () => aborted.resolve());
      begun.resolve();
      await aborted.promise;
      return 'paid';
    };
    const { clerk, runs } = bank(lost, body, { needsApproval: false });
    await clerk.start('Pay.', { runId: 'run' });
    await begun.promise;
    await pass(1);
    await aborted.promise;
    await runs.settled();
  });

  test.each([true, false])('leaves a body that fails on its loss in doubt (gated: %s)', async (gated) => {
    const kept = memoryStore();
    const renew: Store['renew'] = async (runId, token) => {
      await kept.release(runId, token);
      return false;
    };
    const begun = Promise.withResolvers<void>();
    const body: Body = (signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        begun.resolve();
      });
    const { clerk, runs } = bank(changedStore(kept, { renew }), body, { needsApproval: gated });
    await clerk.start('Pay.', { runId: 'run' });
    if (gated) await runs.decide((await runs.wait('run')).pending[0] ?? '', 'approve');
    await begun.promise;
    await pass(1);
    await runs.settled();
    const pays = vi.fn(async () => 'paid');
    const other = bank(kept, pays, { needsApproval: gated });
    await other.runs.drive('run');
    await other.runs.settled();
    expect((await other.runs.requests()).items).toMatchObject([{ kind: 'doubt' }]);
    expect(pays).not.toHaveBeenCalled();
  });

  /** A run whose body waits, and whose renewals are answered or not. */
  async function renewing(answers: (asked: number) => boolean) {
    const kept = memoryStore();
    const asked: string[] = [];
    const renew: Store['renew'] = async (...given) => {
      asked.push(given[0]);
      return answers(asked.length) ? kept.renew(...given) : new Promise<never>(() => undefined);
    };
    const [begun, done] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    const signals: AbortSignal[] = [];
    const body: Body = (signal) => {
      signals.push(signal);
      begun.resolve();
      return done.promise;
    };
    const { clerk, runs } = bank(changedStore(kept, { renew }), body, { needsApproval: false });
    await clerk.start('Pay.', { runId: 'run' });
    await begun.promise;
    return { asked, done, runs, signals };
  }

  test('sends no more renewals while two are unanswered', async () => {
    const { asked, done, runs, signals } = await renewing(() => false);
    await pass(6);
    expect(asked).toHaveLength(2);
    // No answer says that the claim is lost.
    expect(signals).toMatchObject([{ aborted: false }]);
    done.resolve('paid');
    await runs.settled();
  });

  test('is kept by the next renewal if one gets no answer', async () => {
    const { asked, done, runs } = await renewing((number) => number > 1);
    await pass(5);
    expect(asked).toHaveLength(5);
    done.resolve('paid');
    expect(await runs.wait('run', { until: 'end' })).toMatchObject({ status: 'done' });
  });

  test('is renewed during a slow write', async () => {
    const kept = memoryStore();
    const [writing, written] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const renew = vi.fn(kept.renew.bind(kept));
    const append: Store['append'] = async (given) => {
      if (given.events.some(({ type }) => type === 'call-settled')) {
        writing.resolve();
        await written.promise;
      }
      return kept.append(given);
    };
    const { clerk, runs } = bank(changedStore(kept, { renew, append }), async () => 'paid', { needsApproval: false });
    await clerk.start('Pay.', { runId: 'run' });
    await writing.promise;
    await pass(5);
    expect(renew).toHaveBeenCalledTimes(5);
    written.resolve();
    expect(await runs.wait('run', { until: 'end' })).toMatchObject({ status: 'done' });
  });

  /** Waits for so many thirds of the claim, then begins a step. Returns whether the step ran. */
  async function steps(thirds: number, renew: (kept: Store) => Store['renew'], before = () => {}): Promise<boolean> {
    const kept = memoryStore();
    const [begun, begins] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const stepped = vi.fn(() => 'stepped');
    const body: Body = async (_signal, step) => {
      begun.resolve();
      await begins.promise;
      return step('second', stepped);
    };
    const store = changedStore(kept, { renew: renew(kept) });
    const { clerk, runs } = bank(store, body, { needsApproval: false });
    await clerk.start('Pay.', { runId: 'run' });
    await begun.promise;
    await pass(thirds);
    before();
    await new Promise(setImmediate);
    begins.resolve();
    await runs.settled();
    return stepped.mock.calls.length > 0;
  }

  test('lasts longer after a renewal', async () => {
    expect(await steps(5, (kept) => kept.renew.bind(kept))).toBe(true);
  });

  test('lapses if its renewals get no answer', async () => {
    expect(await steps(4, () => () => new Promise(() => undefined))).toBe(false);
  });

  test('lasts from the moment of the renewal request, not from its answer', async () => {
    const answer = Promise.withResolvers<boolean>();
    expect(
      await steps(
        6,
        () => () => answer.promise,
        () => answer.resolve(true),
      ),
    ).toBe(false);
  });
});

const WAYS = [
  ['by its id', (runs: Runs, asked: string) => runs.decide(asked, 'approve')],
  [
    'with resume',
    async (runs: Runs, asked: string) => internalsOf(runs).resume('run', { approve: (await runs.request(asked)).part }),
  ],
] as const;

test.each(WAYS)('a decision (%s) on a run that another process holds starts nothing here', async (_how, decide) => {
  const store = memoryStore();
  const pays = vi.fn(async () => 'paid');
  const { clerk, runs } = bank(store, pays);
  await clerk.start('Pay.', { runId: 'run' });
  const [asked = ''] = (await runs.wait('run')).pending;
  await runs.settled();
  expect(await store.claim('run', 'theirs', 60_000)).toBeDefined();
  await decide(runs, asked);
  await runs.settled();
  expect(pays).not.toHaveBeenCalled();
  expect(await store.read('run')).toMatchObject({ run: { status: 'running' } });
  await store.release('run', 'theirs');
  await runs.drive('run');
  expect(await runs.wait('run', { until: 'end' })).toMatchObject({ status: 'done', text: 'Done.' });
  expect(pays).toHaveBeenCalledTimes(1);
});

test.each(WAYS)(
  'a decision (%s) made while a process releases the run is acted on by that process',
  async (_how, decide) => {
    const kept = memoryStore();
    const paid: string[] = [];
    const contexts: unknown[] = [];
    const pays: Body = async (_signal, _step, context) => {
      paid.push('paid');
      contexts.push(context);
      return 'paid';
    };
    const other = bank(kept, pays);
    await other.clerk.start('Pay.', { runId: 'run' });
    const [asked = ''] = (await other.runs.wait('run')).pending;
    let decided = false;
    const store = changedStore(kept, {
      release: async (runId, token) => {
        if (!decided) await decide(other.runs, asked);
        decided = true;
        await kept.release(runId, token);
      },
    });
    const { runs } = bank(store, pays);
    await runs.drive('run', { context: { user: 'ann' } });
    expect(await runs.wait('run', { until: 'end' })).toMatchObject({ status: 'done', text: 'Done.' });
    expect({ decided, paid, contexts }).toEqual({ decided: true, paid: ['paid'], contexts: [{ user: 'ann' }] });
    expect((await runs.requests({ settled: true })).items).toHaveLength(1);
  },
);

test.each([
  ['driven', 'replies', { status: 'done', text: 'Theirs.' }],
  ['driven', 'fails', { status: 'done', text: 'Theirs.' }],
  ['cancelled', 'replies', { status: 'cancelled', text: '' }],
])('a process that lost a run that was %s returns its stored state (its model %s)', async (how, ends, stands) => {
  let now = 1_800_000_000_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const asked = Promise.withResolvers<void>();
  const open = (reply: () => Promise<string>) => {
    const ai = countersign({ model: scriptedModel(reply), store, clock, leaseMs: 60_000, retry: false });
    return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk' }) };
  };
  const mine = Promise.withResolvers<string>();
  const one = open(() => {
    asked.resolve();
    return mine.promise;
  });
  await one.clerk.start('Go.', { runId: 'run' });
  await asked.promise;
  const rested = internalsOf(one.runs).rested('run');
  now += 2 * 60_000;
  const two = open(async () => 'Theirs.');
  if (how === 'cancelled') await two.runs.cancel('run');
  else await two.runs.drive('run');
  await two.runs.settled();
  if (ends === 'fails') mine.reject(new Error('The model is away.'));
  else mine.resolve('Mine.');
  expect(await rested).toMatchObject(stands);
});

test('a process that lost a run returns at once if no other process drives it', async () => {
  let now = 1_800_000_000_000;
  const clock = () => now;
  const kept = memoryStore({ now: clock });
  // The process stalled before it learned that the start is recorded.
  const store = afterStarts(kept, () => {
    now += 2 * 60_000;
  });
  const model = scriptedModel([{ calls: [{ name: 'pay', ref: 'p', input: {} }] }]);
  const ai = countersign({ model, store, clock, leaseMs: 60_000, retry: false });
  const paid = vi.fn(() => 'paid');
  const pay = ai.defineTool({ name: 'pay', description: '' }, paid);
  await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Pay.', { runId: 'run' });
  expect(await internalsOf(ai.runs).rested('run')).toMatchObject({ status: 'running' });
  expect(paid).not.toHaveBeenCalled();
});

const isStart = (events: unknown): boolean =>
  Array.isArray(events) && events.some(({ type, inside }) => type === 'call-started' && !inside);

test.each([
  ['a call', false],
  ['a call inside a sub-agent', true],
])('the body of %s does not start after its claim lapsed, at any point before it', async (_, isInside) => {
  const begunAfter: number[] = [];
  // The process stalls at each possible point between the store's answer and the body.
  for (let turns = 0; turns < 60; turns++) {
    let now = 1_800_000_000_000;
    const clock = () => now;
    let isLapsed = false;
    const lapse = (left: number): void => {
      if (left > 0) return queueMicrotask(() => lapse(left - 1));
      now += 2 * 60_000;
      isLapsed = true;
    };
    const kept = memoryStore({ now: clock });
    const store = changedStore(kept, {
      append: async (append) => {
        const appended = await kept.append(append);
        if (append.events.some((event) => isStart('inside' in event ? event.inside : [event]))) lapse(turns);
        return appended;
      },
    });
    const model = scriptedModel([
      ...(isInside ? [{ calls: [{ name: 'teller', input: { prompt: 'Pay.' } }] }] : []),
      { calls: [{ name: 'pay', ref: 'p', input: {} }] },
      'Done.',
      'Done.',
    ]);
    const ai = countersign({ model, store, clock, leaseMs: 60_000, retry: false });
    const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, () => {
      if (isLapsed) begunAfter.push(turns);
      return 'paid';
    });
    const teller = ai.defineAgent({ name: 'teller', description: 'Pays.', tools: [pay] });
    await ai.defineAgent({ name: 'clerk', tools: isInside ? [teller] : [pay] }).start('Pay.', { runId: 'run' });
    const { pending } = await internalsOf(ai.runs).rested('run');
    await ai.runs.decide(pending[0] ?? '', 'approve', { by: 'bob' });
    await ai.runs.settled();
  }
  expect(begunAfter).toEqual([]);
});
