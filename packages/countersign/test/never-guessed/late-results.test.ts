// Results that arrive after a takeover: only the recorded try counts, and only from the process that started it.
import { countersign, memoryStore, NotPerformed, ProviderError, type ToolConfig } from 'countersign';
import { internalsOf, type Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test, vi } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { eventually } from '../eventually.ts';
import { holdSteadyClock } from '../steady-clock.ts';

const LEASE_MS = 60_000;
/** A claim this short is renewed soon, so its owner soon sees new events. */
const SHORT_LEASE_MS = 300;

/**
 * Two processes on one store, each with its own tool `pay`. `first` changes the tool of the first process. `beside` adds calls
 * that keep the turn open.
 */
function processes(
  first: Partial<ToolConfig>,
  stuck: () => Promise<unknown>,
  config: Partial<ToolConfig> = {},
  beside: readonly { readonly name: string }[] = [],
) {
  holdSteadyClock();
  let now = 1_800_000_000_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const paid: string[] = [];
  const mayReturn = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const open = (isFirst: boolean) => {
    const model = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? 'Done.'
        : { calls: [{ name: 'pay', ref: 'a', input: {} }, ...beside] },
    );
    const ai = countersign({ model, store, clock, leaseMs: isFirst ? LEASE_MS : SHORT_LEASE_MS, retry: false });
    const pay = ai.defineTool({ name: 'pay', description: '', ...config, ...(isFirst && first) }, async () => {
      if (isFirst) begun.resolve();
      if (isFirst) return stuck();
      paid.push('paid');
      await mayReturn.promise;
      return 'paid';
    });
    const ask = ai.defineInterrupt({ name: 'ask', description: '' });
    return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay, ask] }) };
  };
  const results = async () =>
    (await store.read('run'))?.events.flatMap((event) => (event.type === 'call-settled' ? [event.result] : []));
  const renew = vi.spyOn(store, 'renew');
  /** Waits until the second process has read all recorded events. */
  const seen = async () => {
    const before = renew.mock.calls.length;
    await eventually(() => expect(renew.mock.calls.length).toBeGreaterThan(before + 1));
  };
  /** Waits until the body of the first process has started. */
  const hasBegun = () => begun.promise;
  const lapse = () => (now += 2 * LEASE_MS);
  return { one: open(true), two: open(false), lapse, hasBegun, paid, mayReturn, results, seen };
}

/** Opens a process whose only call is a payment with this body. */
function opener(clock: () => number, body: () => Promise<string>) {
  holdSteadyClock();
  return (store: Store, leaseMs: number) => {
    const model = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'pay', ref: 'a', input: {} }] },
    );
    const ai = countersign({ model, store, clock, leaseMs, retry: false });
    const pay = ai.defineTool({ name: 'pay', description: '' }, body);
    return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
  };
}

/** The second process takes over and pays. The first wakes up meanwhile, and its result is ignored. */
async function secondPays(
  { one, two, lapse, paid, mayReturn, results }: ReturnType<typeof processes>,
  wake: () => void,
) {
  lapse();
  await two.runs.drive('run');
  await eventually(() => expect(paid).toEqual(['paid']));
  wake();
  await one.runs.settled();
  expect(await results()).toEqual([]);
  mayReturn.resolve();
  await Promise.all([one.runs.settled(), two.runs.settled()]);
  expect(await results()).toEqual([{ type: 'output', output: 'paid' }]);
}

test.each([true, false])('a process that never started a call cannot settle it (gated: %s)', async (needsApproval) => {
  const asleep = Promise.withResolvers<void>();
  const awake = Promise.withResolvers<void>();
  let looks = 0;
  const inputSchema = {
    '~standard': {
      version: 1 as const,
      vendor: 'own',
      // The gate's validation passes. The one right before the body hangs, then its connection is lost.
      validate: async (value: unknown) => {
        looks += 1;
        if (looks < (needsApproval ? 2 : 1)) return { value };
        asleep.resolve();
        await awake.promise;
        throw new Error('connection lost');
      },
    },
  };
  const schema = { inputSchema, inputJsonSchema: { type: 'object' } };
  const world = processes(schema, async () => 'never', { needsApproval });
  const { one } = world;
  await one.clerk.start('Pay.', { runId: 'run' });
  if (needsApproval) {
    const { pending } = await one.runs.wait('run');
    await one.runs.decide(pending[0] ?? '', 'approve', { drive: false });
    await one.runs.drive('run');
  }
  await asleep.promise;
  await secondPays(world, awake.resolve);
});

describe.each([
  ['because it is idempotent', { idempotent: true }],
  ['because verify found no effect', { verify: () => undefined, settlesWithin: LEASE_MS }],
])('a call started again %s', (_why, config) => {
  test.each([new NotPerformed('no account'), new Error('socket hang up')])(
    'the failure of the first try does not settle it: %s',
    async (error) => {
      const begun = Promise.withResolvers<void>();
      const wakes = Promise.withResolvers<void>();
      const stuck = async () => {
        begun.resolve();
        await wakes.promise;
        throw error;
      };
      const world = processes({}, stuck, { ...config, needsApproval: true });
      const { one } = world;
      await one.clerk.start('Pay.', { runId: 'run' });
      const { pending } = await one.runs.wait('run');
      await one.runs.decide(pending[0] ?? '', 'approve');
      await begun.promise;
      await secondPays(world, wakes.resolve);
    },
  );
});

test('an unclear verify answer never leads to a second try, however old the first one is', async () => {
  const verify = () => 'perhaps' as never;
  const stuck = () => new Promise(() => undefined);
  const { one, two, lapse, paid, mayReturn } = processes({}, stuck, { verify, settlesWithin: 1 });
  await one.clerk.start('Pay.', { runId: 'run' });
  lapse();
  mayReturn.resolve();
  await two.runs.drive('run');
  expect((await two.runs.wait('run')).status).toBe('waiting');
  expect((await two.runs.requests()).items).toMatchObject([{ kind: 'doubt' }]);
  expect(paid).toEqual([]);
});

test.each([
  ['finds nothing', undefined, {}],
  ['finds nothing and a retry is allowed', undefined, { settlesWithin: LEASE_MS }],
  ['finds another output', { output: 'found' }, {}],
])('a result recorded while verify runs stays: verify %s', async (_what, found, config) => {
  const begun = Promise.withResolvers<void>();
  const wakes = Promise.withResolvers<void>();
  const looks = Promise.withResolvers<void>();
  const look = Promise.withResolvers<typeof found>();
  const stuck = async () => {
    begun.resolve();
    await wakes.promise;
    return 'late';
  };
  const verify = () => {
    looks.resolve();
    return look.promise;
  };
  const world = processes({}, stuck, { ...config, verify }, [{ name: 'ask' }]);
  const { one, two, lapse, paid, mayReturn, results, seen } = world;
  await one.clerk.start('Pay.', { runId: 'run' });
  await begun.promise;
  lapse();
  await two.runs.drive('run');
  await looks.promise;
  wakes.resolve();
  await eventually(async () => expect(await results()).toEqual([{ type: 'output', output: 'late' }]));
  await seen();
  look.resolve(found);
  mayReturn.resolve();
  await Promise.all([one.runs.settled(), two.runs.settled()]);
  expect(await results()).toEqual([{ type: 'output', output: 'late' }]);
  // The output of verify is not a late result of a body.
  expect((await two.runs.recorded('run')).map(({ type }) => type)).not.toContain('call-ended-late');
  expect(paid).toEqual([]);
  expect((await two.runs.requests()).items.map(({ kind }) => kind)).toEqual(['question']);
});

test('a result that arrives during a stop is recorded, and the run is released', async () => {
  let now = 1_800_000_000_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const mayReturn = Promise.withResolvers<string>();
  const open = (body: () => unknown, context?: object) => {
    const model = scriptedModel([{ calls: [{ name: 'pay', ref: 'a', input: {} }] }]);
    const contextFor = () => context ?? new Promise<never>(() => undefined);
    const ai = countersign({ model, store, clock, leaseMs: LEASE_MS, contextFor, retry: false });
    const pay = ai.defineTool({ name: 'pay', description: '' }, async () => body() as never);
    return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
  };
  const one = open(() => mayReturn.promise);
  await one.clerk.start('Pay.', { runId: 'run', context: {} });
  await eventually(async () => expect(JSON.stringify(await store.read('run'))).toContain('call-started'));
  now += 2 * LEASE_MS;
  const two = open(() => 'paid', {});
  await two.runs.drive('run');
  expect(await two.runs.wait('run')).toMatchObject({ status: 'waiting' });
  await two.runs.stop();
  const stopping = one.runs.stop();
  mayReturn.resolve('late');
  await stopping;
  await eventually(async () => expect(await store.due(10)).toEqual(['run']));
  expect(JSON.stringify(await store.read('run'))).toContain('"output":"late"');
});

test('a result does not settle a retry that a person approves while the result is written', async () => {
  let now = 1_800_000_000_000;
  const clock = () => now;
  const kept = memoryStore({ now: clock });
  const tries = ['first', 'second'].map((output) => ({
    output,
    begun: Promise.withResolvers<void>(),
    mayEnd: Promise.withResolvers<void>(),
  }));
  const [first, second] = tries;
  let begun = 0;
  const open = opener(clock, async () => {
    const { output, begun: begins, mayEnd } = tries[begun++] ?? {};
    begins?.resolve();
    await mayEnd?.promise;
    return output ?? 'third';
  });
  const two = open(kept, LEASE_MS);
  const store = changedStore(kept, {
    append: async (append) => {
      // The late result is about to be written.
      if (append.claim?.how === 'take' && begun === 1) {
        const [card] = (await two.runs.requests()).items;
        await two.runs.decide(card?.id ?? '', 'approve');
        await second?.begun.promise;
      }
      return kept.append(append);
    },
  });
  const one = open(store, LEASE_MS);
  await one.clerk.start('Pay.', { runId: 'run' });
  await first?.begun.promise;
  now += 2 * LEASE_MS;
  await two.runs.drive('run');
  await two.runs.settled();
  first?.mayEnd.resolve();
  await one.runs.settled();
  second?.mayEnd.resolve();
  await two.runs.settled();
  const recordedResults = (await two.runs.recorded('run')).flatMap((event) =>
    'result' in event ? [[event.type, event.result]] : [],
  );
  expect(recordedResults).toEqual([
    ['call-ended-late', { type: 'output', output: 'first' }],
    ['call-settled', { type: 'output', output: 'second' }],
  ]);
});

test('a late result settles an open doubt even if its process saw the doubt raised', async () => {
  let now = 1_800_000_000_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const looks = Promise.withResolvers<void>();
  const wakes = Promise.withResolvers<void>();
  const tookOver = Promise.withResolvers<void>();
  const returns = Promise.withResolvers<string>();
  // It stalls between renewing its claim and reading new events.
  const sleepy = changedStore(store, {
    read: async (runId, options) => {
      if (options?.after) {
        looks.resolve();
        await wakes.promise;
      }
      return store.read(runId, options);
    },
    renew: async (...claim) => {
      const isHeld = await store.renew(...claim);
      if (!isHeld) tookOver.resolve();
      return isHeld;
    },
  });
  const open = opener(clock, () => returns.promise);
  const one = open(sleepy, SHORT_LEASE_MS);
  await one.clerk.start('Pay.', { runId: 'run' });
  await looks.promise;
  now += LEASE_MS;
  const two = open(store, LEASE_MS);
  await two.runs.drive('run');
  expect((await two.runs.wait('run')).status).toBe('waiting');
  wakes.resolve();
  await tookOver.promise;
  await one.runs.settled();
  returns.resolve('paid');
  await eventually(async () => expect((await two.runs.get('run')).pending).toEqual([]));
  const { events } = (await store.read('run')) ?? { events: [] };
  expect(events.flatMap((event) => (event.type === 'call-settled' ? [event.result] : []))).toEqual([
    { type: 'output', output: 'paid' },
  ]);
});

test('deciding a doubt that a result settled fails and names the result as the reason', async () => {
  const returns = Promise.withResolvers<unknown>();
  const { one, two, lapse, hasBegun } = processes({}, () => returns.promise);
  await one.clerk.start('Pay.', { runId: 'run' });
  await hasBegun();
  lapse();
  await two.runs.drive('run');
  const [doubt = ''] = (await two.runs.wait('run')).pending;
  returns.resolve('paid');
  await one.runs.settled();
  const decided = two.runs.decide(doubt, { type: 'respond', output: 'not paid' }, { by: 'eve' });
  const message = expect.stringMatching(/was withdrawn at 20.*the call reported its result itself.*Nothing is left/);
  await expect(decided).rejects.toMatchObject({ code: 'already-decided', message });
  expect((await two.runs.request(doubt)).settlement).toMatchObject({
    withdrawn: true,
    by: null,
    note: 'the call reported its result itself',
  });
});

test('a result is recorded as late even if its process saw that a person settled the doubt', async () => {
  let now = 1_800_000_000_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const [looks, wakes, looked] = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  const returns = Promise.withResolvers<string>();
  // It stalls before reading new events, and never learns that its claim is lost.
  const sleepy = changedStore(store, {
    read: async (runId, options) => {
      if (!options?.after) return store.read(runId, options);
      looks?.resolve();
      await wakes?.promise;
      setImmediate(() => looked?.resolve());
      return store.read(runId, options);
    },
    renew: async (...claim) => (now > 1_800_000_000_000 ? new Promise(() => undefined) : store.renew(...claim)),
  });
  const open = opener(clock, () => returns.promise);
  const one = open(sleepy, SHORT_LEASE_MS);
  await one.clerk.start('Pay.', { runId: 'run' });
  await looks?.promise;
  now += LEASE_MS;
  const two = open(store, LEASE_MS);
  await two.runs.drive('run');
  const { pending } = await two.runs.wait('run');
  await two.runs.decide(pending[0] ?? '', { type: 'respond', output: 'mine' });
  await two.runs.settled();
  wakes?.resolve();
  await looked?.promise;
  returns.resolve('theirs');
  const late = async () =>
    (await two.runs.recorded('run')).flatMap((event) => (event.type === 'call-ended-late' ? [event.result] : []));
  await eventually(async () => expect(await late()).toEqual([{ type: 'output', output: 'theirs' }]));
  expect(await two.runs.get('run')).toMatchObject({ status: 'done' });
});

describe('a result that arrives after its doubt was settled', () => {
  /** The first process is stuck in its body. The second takes over and asks. */
  async function inDoubt(beside: readonly { readonly name: string }[] = []) {
    const stuck = Promise.withResolvers<unknown>();
    const world = processes({}, () => stuck.promise, {}, beside);
    const { one, two, lapse, hasBegun, mayReturn } = world;
    await one.clerk.start('Pay.', { runId: 'run' });
    await hasBegun();
    lapse();
    await two.runs.drive('run');
    const { items } = await two.runs.wait('run').then(() => two.runs.requests({ kind: 'doubt' }));
    mayReturn.resolve();
    const asked = items[0]?.id ?? '';
    const late = async () =>
      (await two.runs.recorded('run')).flatMap((event) => (event.type === 'call-ended-late' ? [event.result] : []));
    /** Wakes the first process and waits until it has nothing left to do. */
    const wake = async (value: unknown) => {
      stuck.resolve(value);
      await one.runs.settled();
      await new Promise((resolve) => setTimeout(resolve, 50));
      await one.runs.settled();
    };
    return { ...world, asked, late, wake };
  }

  test.each(['paid after all', 'paid'])(
    'a late result after a completed retry is recorded and changes nothing: %s',
    async (output) => {
      const { two, paid, asked, late, wake, results } = await inDoubt();
      await two.runs.decide(asked, 'approve', { by: 'ann' });
      await two.runs.settled();
      const before = await two.runs.get('run');
      expect(before).toMatchObject({ status: 'done' });
      await wake(output);
      expect(await late()).toEqual([{ type: 'output', output }]);
      const { status, messages } = await two.runs.get('run');
      expect({ status, messages }).toEqual({ status: 'done', messages: before.messages });
      expect(await results()).toEqual([{ type: 'output', output: 'paid' }]);
      expect(await two.runs.verify('run')).toMatchObject({ ok: true });
      expect(paid).toEqual(['paid']);
      await two.runs.delete('run');
    },
  );

  test.each(['running', 'waiting'] as const)('a late result is recorded while the run is %s', async (status) => {
    const stuck = Promise.withResolvers<unknown>();
    const beside = status === 'waiting' ? [{ name: 'ask' }] : [];
    const world = processes({}, () => stuck.promise, {}, beside);
    const { one, two, lapse, hasBegun, paid, mayReturn } = world;
    await one.clerk.start('Pay.', { runId: 'run' });
    await hasBegun();
    lapse();
    await two.runs.drive('run');
    const { items } = await two.runs.wait('run').then(() => two.runs.requests({ kind: 'doubt' }));
    await two.runs.decide(items[0]?.id ?? '', 'approve');
    await eventually(() => expect(paid).toEqual(['paid']));
    if (status === 'waiting') {
      mayReturn.resolve();
      await two.runs.settled();
    }
    stuck.resolve('late');
    const isLate = async () =>
      expect((await two.runs.recorded('run')).map(({ type }) => type)).toContain('call-ended-late');
    await eventually(isLate);
    expect((await two.runs.get('run')).status).toBe(status);
    mayReturn.resolve();
    await two.runs.settled();
    if (status === 'waiting') {
      const [question] = (await two.runs.requests()).items;
      await two.runs.decide(question?.id ?? '', { type: 'respond', output: 'yes' });
      await two.runs.settled();
    }
    expect((await two.runs.get('run')).status).toBe('done');
    expect(await two.runs.verify('run')).toMatchObject({ ok: true });
  });

  test.each([
    ['a different answer', 'mine', ['theirs']],
    ['the same answer', 'theirs', []],
  ])('after %s by a person, a late result is recorded only if it differs', async (_which, said, lateOutputs) => {
    const { two, asked, late, wake } = await inDoubt();
    await two.runs.decide(asked, { type: 'respond', output: said });
    await two.runs.settled();
    await wake('theirs');
    expect((await late()).map((result) => 'output' in result && result.output)).toEqual(lateOutputs);
  });

  test('a late failure is recorded after a person rejected the doubt', async () => {
    const { two, asked, late, wake } = await inDoubt();
    await two.runs.decide(asked, 'reject');
    await two.runs.settled();
    await wake(Promise.reject(new Error('The bank is closed.')));
    expect(await late()).toMatchObject([{ type: 'error', text: expect.stringContaining('The bank is closed.') }]);
  });

  test('a late result is recorded while another question of the turn is pending', async () => {
    const { two, asked, late, wake } = await inDoubt([{ name: 'ask' }]);
    await two.runs.decide(asked, { type: 'respond', output: 'mine' });
    await two.runs.settled();
    await wake('theirs');
    expect(await late()).toEqual([{ type: 'output', output: 'theirs' }]);
    expect((await two.runs.get('run')).status).toBe('waiting');
  });

  test('a late result is recorded even if another call had the same output', async () => {
    const { two, asked, late, wake } = await inDoubt([{ name: 'ask' }]);
    const [question] = (await two.runs.requests({ tool: 'ask' })).items;
    await two.runs.decide(question?.id ?? '', { type: 'respond', output: 'theirs' });
    await two.runs.decide(asked, { type: 'respond', output: 'mine' });
    await two.runs.settled();
    await wake('theirs');
    expect(await late()).toEqual([{ type: 'output', output: 'theirs' }]);
  });

  test('a late result is recorded on a cancelled run', async () => {
    const { two, late, wake } = await inDoubt();
    await two.runs.cancel('run');
    await wake('paid');
    expect(await late()).toEqual([{ type: 'output', output: 'paid' }]);
    expect((await two.runs.get('run')).status).toBe('cancelled');
  });
});

describe('a result that arrives after a person approved a retry, before the retry starts', () => {
  const CLEARED = { type: 'approve' } as const;

  /** The first process is stuck in an approved payment and the second has asked about it. The third has no such tool. */
  async function inDoubt() {
    holdSteadyClock();
    let now = 1_800_000_000_000;
    const clock = () => now;
    const store = memoryStore({ now: clock });
    const stuck = Promise.withResolvers<() => unknown>();
    const begun = Promise.withResolvers<void>();
    const paid: unknown[] = [];
    const open = (body: (input: unknown) => unknown, hasTool: boolean) => {
      const model = scriptedModel(({ messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? 'Done.'
          : { calls: [{ name: 'pay', ref: 'a', input: { to: 'x' } }] },
      );
      const ai = countersign({ model, store, clock, leaseMs: LEASE_MS, retry: false });
      const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, body as () => never);
      return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: hasTool ? [pay] : [] }) };
    };
    const one = open(async () => {
      begun.resolve();
      return (await stuck.promise)();
    }, true);
    await one.clerk.start('Pay.', { runId: 'run' });
    const [asked = ''] = (await one.runs.wait('run')).pending;
    await one.runs.decide(asked, 'approve');
    await begun.promise;
    now += 2 * LEASE_MS;
    const two = open((input) => {
      paid.push(input);
      return 'paid again';
    }, true);
    const three = open(() => undefined, false);
    await two.runs.drive('run');
    const [doubt = ''] = (await two.runs.wait('run')).pending;
    const wake = async (end: () => unknown) => {
      stuck.resolve(end);
      await eventually(async () => expect(JSON.stringify(await store.read('run'))).toMatch(/ended-late|call-settled/));
      await one.runs.settled();
    };
    const facts = async () => {
      const events = await two.runs.recorded('run');
      return events.flatMap((event) => ('result' in event ? [[event.type, event.result]] : []));
    };
    return { two, three, doubt, wake, facts, paid };
  }

  test('settles the call, which does not run again', async () => {
    const { two, doubt, wake, facts, paid } = await inDoubt();
    await two.runs.decide(doubt, CLEARED, { by: 'ann', drive: false });
    await wake(() => 0);
    await two.runs.drive('run');
    expect(await two.runs.wait('run', { until: 'end' })).toMatchObject({ status: 'done', text: 'Done.' });
    expect(await facts()).toEqual([['call-settled', { type: 'output', output: 0 }]]);
    expect(paid).toEqual([]);
    expect(await two.runs.request(doubt)).toMatchObject({ settlement: { by: 'ann' } });
    expect(await two.runs.verify('run')).toMatchObject({ ok: true });
  });

  test('settles a call that waits for its missing tool, and withdraws the pending question', async () => {
    const { two, three, doubt, wake, facts } = await inDoubt();
    await two.runs.decide(doubt, CLEARED, { drive: false });
    await three.runs.drive('run');
    await three.runs.settled();
    expect((await two.runs.requests()).items).toMatchObject([{ kind: 'unavailable' }]);
    await wake(() => 'paid');
    expect(await two.runs.wait('run', { until: 'end' })).toMatchObject({ status: 'done', text: 'Done.' });
    expect((await two.runs.requests()).items).toEqual([]);
    expect(await facts()).toEqual([['call-settled', { type: 'output', output: 'paid' }]]);
    expect(await two.runs.verify('run')).toMatchObject({ ok: true });
  });

  test('is shown to the person asked about the missing tool, because a retry would be a second payment', async () => {
    const { two, three, doubt, wake } = await inDoubt();
    await two.runs.decide(doubt, { ...CLEARED, edit: { to: 'y' } }, { drive: false });
    await wake(() => 'paid');
    await three.runs.drive('run');
    await three.runs.settled();
    const [card] = (await three.runs.requests()).items;
    expect(card?.kind).toBe('unavailable');
    expect(card?.payload).toEqual({
      message: expect.stringContaining('An earlier start has ended late: "paid"'),
    });
  });

  test.each<[string, { readonly type: 'approve'; readonly edit?: { readonly to: string } }, () => unknown]>([
    ['the retry has a different input', { ...CLEARED, edit: { to: 'y' } }, () => 'paid'],
    ['the result says that nothing happened', CLEARED, () => Promise.reject(new NotPerformed('no account'))],
    ['the result is a failure', CLEARED, () => Promise.reject(new Error('socket hang up'))],
  ])('is only recorded as late: %s', async (_what, decision, end) => {
    const { two, doubt, wake, facts, paid } = await inDoubt();
    await two.runs.decide(doubt, decision, { drive: false });
    await wake(end);
    await two.runs.drive('run');
    expect(await two.runs.wait('run', { until: 'end' })).toMatchObject({ status: 'done' });
    expect((await facts()).map(([type]) => type)).toEqual(['call-ended-late', 'call-settled']);
    expect(paid).toEqual([{ to: decision.edit?.to ?? 'x' }]);
  });
});

test('a question about a second start shows the result of the first one', async () => {
  holdSteadyClock();
  let now = 1_800_000_000_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const first = Promise.withResolvers<string>();
  const open = opener(clock, () => (started++ === 0 ? first.promise : new Promise<never>(() => undefined)));
  let started = 0;
  const [one, two, three] = [open(store, LEASE_MS), open(store, LEASE_MS), open(store, LEASE_MS)];
  const asked = async ({ runs }: typeof one) => {
    now += 2 * LEASE_MS;
    await runs.drive('run');
    await runs.wait('run');
    return (await runs.requests()).items[0];
  };
  await one.clerk.start('Pay.', { runId: 'run' });
  await eventually(() => expect(started).toBe(1));
  const doubt = await asked(two);
  expect(doubt?.payload).toEqual({ message: 'pay was started, and its outcome is unknown.' });
  await two.runs.decide(doubt?.id ?? '', 'approve');
  await eventually(() => expect(started).toBe(2));
  first.resolve('paid');
  await eventually(async () => expect(JSON.stringify(await store.read('run'))).toContain('call-ended-late'));
  expect((await asked(three))?.payload).toEqual({
    message: 'pay was started, and its outcome is unknown. An earlier start has ended late: "paid"',
  });
});

describe('a result that arrives while the store is down for longer than a write is retried', () => {
  /** A payment that ends while the store is down, and a journal that gave up. */
  async function givenUp() {
    let now = 1_800_000_000_000;
    let isAway = false;
    const kept = memoryStore({ now: () => now });
    const away = new ProviderError('store-failed', {}, 'The store is away.', { retryable: true });
    const unlessAway = <Given extends unknown[], T>(act: (...args: Given) => Promise<T>) => {
      return async (...args: Given): Promise<T> => {
        if (isAway) throw away;
        return act(...args);
      };
    };
    const names = ['append', 'read', 'renew', 'release', 'claim'] as const;
    const changes = Object.fromEntries(names.map((name) => [name, unlessAway(kept[name].bind(kept) as never)]));
    const model = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'pay', input: {} }] },
    );
    const ai = countersign({ model, store: changedStore(kept, changes), clock: () => now, retry: false });
    let paid = 0;
    const pay = ai.defineTool({ name: 'pay', description: '' }, () => {
      isAway = true;
      // Time passes while the store is down.
      setTimeout(() => (now += 31_000), 20);
      paid += 1;
      return 'paid';
    });
    await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Pay.', { runId: 'run' });
    expect(await internalsOf(ai.runs).rested('run')).toMatchObject({ status: 'failed' });
    const settled = async () => (await kept.read('run'))?.events.filter(({ type }) => type === 'call-settled');
    expect(await settled()).toEqual([]);
    const back = () => {
      isAway = false;
    };
    const pass = () => (now += 60_000);
    return { runs: ai.runs, back, pass, settled, paid: () => paid };
  }

  test('is recorded once the store is back, and no question is asked', async () => {
    const { runs, back, pass, settled, paid } = await givenUp();
    back();
    await eventually(async () => expect(await settled()).toMatchObject([{ result: { output: 'paid' } }]));
    await runs.settled();
    pass();
    const worker = runs.work({ pollMs: 5 });
    expect(await runs.wait('run', { until: 'end' })).toMatchObject({ status: 'done', text: 'Done.' });
    await worker.stop();
    expect(paid()).toBe(1);
    expect(await runs.requests({ settled: true })).toMatchObject({ items: [] });
    expect(await runs.verify('run')).toMatchObject({ ok: true });
  });

  test('is reported by stop and a warning if the store stays down', async () => {
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve));
    const { runs, pass } = await givenUp();
    pass();
    const path = [expect.stringMatching(/^call_/)];
    expect(await runs.stop()).toEqual({ unrecorded: [{ runId: 'run', path }] });
    // It is reported once.
    expect(await runs.stop()).toEqual({ unrecorded: [] });
    expect(await warned).toMatchObject({
      name: 'CountersignWarning',
      message: expect.stringMatching(/has ended.*could not be recorded: The store is away/),
    });
  });
});
