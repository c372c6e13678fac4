// A process clock may be wrong, be changed, or stand still while the process is suspended: the store's time counts, and
// nothing happens too early or twice.
import { type Countersign, countersign, memoryStore, type ToolConfig, type ToolContext, z } from 'countersign';
import { internalsOf, type Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test, vi } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { away } from '../conversations/flaky-store.ts';
import { eventually } from '../eventually.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

type Body = (context: ToolContext) => unknown;
type Options = Partial<ToolConfig> & Pick<Parameters<typeof countersign>[0] & object, 'leaseMs'>;

/** A process whose clerk calls `pay` once. */
function bank(store: Store, clock: () => number, body: Body, { leaseMs = 15_000, ...config }: Options = {}) {
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'pay', ref: 'p', input: {} }] },
  );
  const ai: Countersign = countersign({ model, store, clock, leaseMs, retry: false });
  const tool = { name: 'pay', description: '', inputSchema: z.object({}), needsApproval: true, ...config };
  const pay = ai.defineTool(tool, async (_input, context) => body(context));
  return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
}

async function asked({ runs, clerk }: ReturnType<typeof bank>) {
  await clerk.start('Pay.', { runId: 'run' });
  await runs.wait('run');
  await runs.settled();
  const [card] = (await runs.requests()).items;
  if (!card?.expiresAt) throw new Error('Expected a question with a deadline.');
  return { id: card.id, expiresAt: card.expiresAt };
}

/** A process whose clerk asks two questions, one with a short deadline, beside an agent that fails. */
function twoAsked(store: Store, clock: () => number) {
  const calls = ['soon', 'later', 'breaks'].map((name) => ({ name, ref: name, input: { prompt: '' } }));
  const ai = countersign({ model: scriptedModel(() => ({ calls })), store, clock, retry: false });
  const soon = ai.defineInterrupt({ name: 'soon', description: '', expiresIn: 500 });
  const later = ai.defineInterrupt({ name: 'later', description: '', expiresIn: HOUR });
  const breaks = ai.defineAgent({ name: 'breaks', model: scriptedModel([]) });
  return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [soon, later, breaks] }) };
}

/** Fails the run, and returns a function that lists its pending questions. */
async function failsAsking(store: Store, clock: () => number) {
  const { runs, clerk } = twoAsked(store, clock);
  await clerk.start('Ask.', { runId: 'run' });
  expect(await runs.wait('run')).toMatchObject({ status: 'failed' });
  const waiting = async () => (await runs.requests()).items.map(({ tool }) => tool);
  expect(await waiting()).toEqual(['soon', 'later']);
  return waiting;
}

/** One shared clock, and a process that is suspended for 40 minutes when it first asks the store for the time. */
async function stoppedOnce(when: 'before' | 'after', onExpiry: 'reject' | 'approve') {
  let now = 1_800_000_000_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const paid: string[] = [];
  const pays = () => paid.push('paid');
  const card = await asked(bank(store, clock, pays, { expiresIn: HOUR, onExpiry }));
  let stops = 1;
  const stop = () => {
    if (stops-- > 0) now += 40 * MINUTE;
  };
  const slow = changedStore(store, {
    now: async () => {
      if (when === 'before') stop();
      const time = now;
      if (when === 'after') stop();
      return time;
    },
  });
  const { runs } = bank(slow, clock, pays, { expiresIn: HOUR, onExpiry });
  return { card, runs, paid, pass: (ms: number) => (now += ms) };
}

describe('a process suspended while it asks for the time', () => {
  test('accepts a decision made before the deadline', async () => {
    const { runs, card, pass } = await stoppedOnce('before', 'reject');
    pass(5 * MINUTE);
    expect(await runs.decide(card.id, 'approve')).toMatchObject({ decision: { type: 'approve' } });
  });

  test('lets no deadline decide before its time', async () => {
    const { runs, paid, pass } = await stoppedOnce('before', 'approve');
    pass(5 * MINUTE);
    await runs.drive('run');
    await runs.settled();
    expect(paid).toEqual([]);
  });

  test('rejects a decision made after the deadline', async () => {
    const { runs, card, paid, pass } = await stoppedOnce('after', 'reject');
    pass(25 * MINUTE);
    await expect(runs.decide(card.id, 'approve')).rejects.toMatchObject({ code: 'already-decided' });
    expect(paid).toEqual([]);
  });

  test('rejects a resume made after the deadline', async () => {
    const { runs, card, paid, pass } = await stoppedOnce('after', 'reject');
    pass(25 * MINUTE);
    const { part } = await runs.request(card.id);
    await expect(internalsOf(runs).resume('run', { approve: part })).rejects.toMatchObject({ code: 'already-decided' });
    expect(paid).toEqual([]);
  });
});

test.each(['reject', 'approve'] as const)(
  'a deadline decides at its millisecond, not one before (%s)',
  async (onExpiry) => {
    let now = 1_800_000_000_000;
    const clock = () => now;
    const paid: string[] = [];
    const process = bank(memoryStore({ now: clock }), clock, () => paid.push('paid'), { expiresIn: HOUR, onExpiry });
    const { runs } = process;
    const { id, expiresAt } = await asked(process);
    const drive = async () => {
      await runs.drive('run');
      await runs.settled();
      return (await runs.get('run')).status;
    };
    now = expiresAt - 1;
    expect(await drive()).toBe('waiting');
    now = expiresAt;
    // A decision equal to the deadline's returns the recorded one. Any other is a conflict.
    const late = await runs.decide(id, 'approve', { by: 'ann' }).catch((error: unknown) => error);
    expect(late).toMatchObject(onExpiry === 'approve' ? { by: 'deadline' } : { code: 'already-decided' });
    expect(await drive()).toBe('done');
    expect(paid).toEqual(onExpiry === 'approve' ? ['paid'] : []);
    const made = (await runs.recorded('run')).find(({ type }) => type === 'decision-made');
    expect(made).toMatchObject({ decision: { by: 'deadline', note: 'No one decided in time.' } });
  },
);

test.each([2 * HOUR, -2 * HOUR])(
  'in a failed run, a process whose clock is off by %d ms applies only the expired deadline',
  async (off) => {
    let now = 1_800_000_000_000;
    const store = memoryStore({ now: () => now });
    const waiting = await failsAsking(store, () => now);
    now += MINUTE;
    const worker = twoAsked(store, () => now + off).runs.work({ pollMs: 5 });
    await eventually(async () => expect(await waiting()).not.toContain('soon'));
    await worker.stop();
    expect(await waiting()).toEqual(['later']);
  },
);

describe('a process whose clock is set two hours ahead', () => {
  test.each(['reject', 'approve'] as const)('lets no deadline decide before its time (%s)', async (onExpiry) => {
    let off = 0;
    const paid: string[] = [];
    const pays = () => paid.push('paid');
    const process = bank(memoryStore(), () => Date.now() + off, pays, { expiresIn: HOUR, onExpiry });
    await asked(process);
    off = 2 * HOUR;
    await process.runs.drive('run');
    await process.runs.settled();
    expect(paid).toEqual([]);
    expect((await process.runs.requests()).items).toHaveLength(1);
  });

  test('accepts a decision made in time', async () => {
    let off = 0;
    const process = bank(
      memoryStore(),
      () => Date.now() + off,
      () => 'paid',
      { expiresIn: HOUR },
    );
    const card = await asked(process);
    off = 2 * HOUR;
    await process.runs.decide(card.id, 'approve');
    expect(await process.runs.wait('run')).toMatchObject({ status: 'done' });
  });
});

test.each(['reject', 'approve'] as const)(
  "no deadline decides while the store's time is unknown (%s)",
  async (onExpiry) => {
    let [off, isAway, isDecided] = [0, false, false];
    const kept = memoryStore();
    const store = changedStore(kept, {
      now: async () => {
        if (isAway) throw away();
        return kept.now();
      },
    });
    const paid: string[] = [];
    const calls = ['a', 'b'].map((ref) => ({ name: 'pay', ref, input: { to: ref } }));
    const model = scriptedModel(({ messages }) => (messages.length > 1 ? 'Done.' : { calls }));
    const contextFor = () => {
      // The store fails and the clock changes after the decision is recorded and before its run is driven.
      if (isDecided) [off, isAway] = [2 * HOUR, true];
      return undefined;
    };
    const ai = countersign({ model, store, clock: () => Date.now() + off, contextFor, retry: false });
    const config = { name: 'pay', description: '', inputSchema: z.object({ to: z.string() }), needsApproval: true };
    const pay = ai.defineTool({ ...config, expiresIn: HOUR, onExpiry }, ({ to }) => paid.push(to));
    await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Pay.', { runId: 'run' });
    await ai.runs.wait('run');
    await ai.runs.settled();
    const [first, second] = (await ai.runs.requests()).items;
    isDecided = true;
    await ai.runs.decide(first?.id ?? '', 'approve', { by: 'ann' });
    await ai.runs.settled();
    expect({ off, paid }).toEqual({ off: 2 * HOUR, paid: ['a'] });
    expect((await ai.runs.requests()).items.map(({ id }) => id)).toEqual([second?.id]);
  },
);

test('a deadline of an hour lasts an hour, even if the clock was set back while the model replied', async () => {
  let off = 2 * HOUR;
  const store = memoryStore();
  const model = scriptedModel(async () => {
    off = 0;
    return { calls: [{ name: 'ask', input: {} }] };
  });
  const ai = countersign({ model, store, clock: () => Date.now() + off, retry: false });
  const ask = ai.defineInterrupt({ name: 'ask', description: '', inputSchema: z.object({}), expiresIn: HOUR });
  await ai.defineAgent({ name: 'clerk', tools: [ask] }).start('Ask.', { runId: 'run' });
  await ai.runs.wait('run');
  const [card] = (await ai.runs.requests()).items;
  expect((card?.expiresAt ?? 0) - (await store.now())).toBeGreaterThan(HOUR - MINUTE);
});

/** A trip of two steps. The first process stalls between them, and another takes over and completes it. */
async function trip(clock: (of: 'first' | 'second') => number, store: Store, sleeps: () => void, leaseMs: number) {
  const booked: string[] = [];
  const asleep = Promise.withResolvers<void>();
  const awake = Promise.withResolvers<void>();
  const open = (name: 'first' | 'second', on: Store) =>
    bank(
      on,
      () => clock(name),
      async ({ step }) => {
        await step('flight', () => booked.push(`flight by ${name}`));
        if (name === 'first') {
          asleep.resolve();
          await awake.promise;
        }
        await step('hotel', () => booked.push(`hotel by ${name}`));
        return 'booked';
      },
      { expiresIn: HOUR, leaseMs },
    );
  // A stalled process cannot renew its claim either.
  const first = open('first', changedStore(store, { renew: () => new Promise(() => undefined) }));
  const { id } = await asked(first);
  await first.runs.decide(id, 'approve');
  await asleep.promise;
  sleeps();
  const second = open('second', store);
  await second.runs.drive('run');
  await second.runs.settled();
  const [doubt] = (await second.runs.requests()).items;
  await second.runs.decide(doubt?.id ?? '', 'approve', { by: 'bob' });
  await second.runs.settled();
  awake.resolve();
  await first.runs.settled();
  return booked;
}

test('a process that stalled past its lease starts no further step, even if its clock was set back', async () => {
  let off = 0;
  let passed = 0;
  const store = memoryStore({ now: () => Date.now() + passed });
  // Only the monotonic clock, which cannot be set, shows that time has passed.
  const steady = vi.spyOn(performance, 'now').mockReturnValue(1_000);
  const booked = trip(
    (of) => Date.now() + (of === 'first' ? off : passed),
    store,
    () => {
      off = -HOUR;
      passed = MINUTE;
      steady.mockReturnValue(1_000 + MINUTE);
    },
    MINUTE,
  );
  expect(await booked).toEqual(['flight by first', 'hotel by second']);
});

test('no step starts in the exact millisecond when the lease ends', async () => {
  let now = 1_800_000_000_000;
  const booked = trip(
    () => now,
    memoryStore({ now: () => now }),
    () => {
      now += 15_000;
    },
    15_000,
  );
  expect(await booked).toEqual(['flight by first', 'hotel by second']);
});

test('a clock with fractions of milliseconds is supported', async () => {
  const clock = () => performance.timeOrigin + performance.now() + 0.3;
  const model = scriptedModel([{ calls: [{ name: 'pay', input: {} }] }, 'Paid.']);
  const ai = countersign({ model, store: memoryStore(), clock });
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true, expiresIn: 60_000 }, () => 'paid');
  const { interrupts } = await ai.defineAgent({ name: 'clerk', tools: [pay] }).generate({ runId: 'r', prompt: 'a' });
  expect(interrupts).toHaveLength(1);
  const [card] = (await ai.runs.requests()).items;
  await ai.runs.decide(card?.id ?? '', 'approve');
  expect(await ai.runs.wait('r')).toMatchObject({ status: 'done', text: 'Paid.' });
});

describe('a database server an hour ahead, replaced by one with the right time', () => {
  /** `two` has just asked the fast server for the time. `one` starts with the right one. */
  async function followed(config: Options = {}) {
    let now = 1_800_000_000_000;
    let ahead = HOUR;
    const clock = () => now;
    const store = memoryStore({ now: () => now + ahead });
    const began: string[] = [];
    const open = (who: string, on = store) =>
      bank(
        on,
        clock,
        () => {
          began.push(who);
          return who === 'one' ? new Promise(() => undefined) : 'paid';
        },
        { leaseMs: 500, ...config },
      );
    const two = open('two');
    await two.clerk.start('Pay.', { runId: 'before' });
    await two.runs.wait('before');
    await two.runs.settled();
    began.length = 0;
    ahead = 0;
    const one = open('one', changedStore(store, { renew: () => new Promise(() => undefined) }));
    const pass = (ms: number) => {
      now += ms;
    };
    return { one, two, began, pass };
  }

  test('lets no call run again before settlesWithin has passed', async () => {
    const config = { needsApproval: false, verify: () => undefined, settlesWithin: HOUR / 2 };
    const { one, two, began, pass } = await followed(config);
    await one.clerk.start('Pay.', { runId: 'run' });
    await eventually(() => expect(began).toEqual(['one']));
    pass(900);
    await two.runs.drive('run');
    await two.runs.settled();
    expect(began).toEqual(['one']);
    const { items } = await two.runs.requests({ runId: 'run' });
    expect(items).toMatchObject([{ kind: 'doubt' }]);
  });

  test('accepts a decision made in time', async () => {
    const { one, two } = await followed({ expiresIn: HOUR / 2 });
    const card = await asked(one);
    expect(await two.runs.decide(card.id, 'reject', { by: 'ann' })).toMatchObject({ by: 'ann' });
  });

  test('accepts a resume made in time', async () => {
    const { one, two } = await followed({ expiresIn: HOUR / 2 });
    const { id } = await asked(one);
    await internalsOf(two.runs).resume('run', { reject: (await two.runs.request(id)).part }, { by: 'ann' });
    expect((await two.runs.request(id)).settlement).toMatchObject({ decision: { type: 'reject' }, by: 'ann' });
  });

  test('lets no deadline decide before its time when a message is sent', async () => {
    const { one, two, began } = await followed({ expiresIn: HOUR / 2, onExpiry: 'approve' });
    const card = await asked(one);
    await two.clerk.generate({ runId: 'run', prompt: 'Do not.', by: 'ann' });
    expect(began).toEqual([]);
    expect((await two.runs.request(card.id)).settlement).toMatchObject({ withdrawn: true, by: 'ann' });
  });

  // By the fast server, an hour is over in this very millisecond.
  test.each([HOUR / 2, HOUR])('lets no deadline of %d ms decide before its time', async (expiresIn) => {
    const { one, two, began } = await followed({ expiresIn, onExpiry: 'approve' });
    await asked(one);
    await two.runs.drive('run').catch(() => undefined);
    await two.runs.settled();
    expect(began).toEqual([]);
    expect((await two.runs.requests({ runId: 'run' })).items).toHaveLength(1);
  });

  test('in a failed run, applies only the expired deadline', async () => {
    let [now, ahead] = [1_800_000_000_000, HOUR];
    const store = memoryStore({ now: () => now + ahead });
    const two = twoAsked(store, () => now);
    // Asks for the time.
    await expect(two.runs.cancel('none')).rejects.toMatchObject({ code: 'unknown-run' });
    ahead = 0;
    const waiting = await failsAsking(store, () => now);
    // Too short to count as a clock that was set.
    now += 600;
    const worker = two.runs.work({ pollMs: 5 });
    await eventually(async () => expect(await waiting()).not.toContain('soon'));
    await worker.stop();
    expect(await waiting()).toEqual(['later']);
  });
});

test('a deadline with onExpiry approve cancels a question, because a question cannot be approved', async () => {
  let now = 1_800_000_000_000;
  const clock = () => now;
  const model = scriptedModel([{ calls: [{ name: 'ask', ref: 'a', input: {} }] }, 'Done.']);
  const ai = countersign({ model, store: memoryStore({ now: clock }), clock });
  const ask = ai.defineInterrupt({ name: 'ask', description: '', expiresIn: 60_000, onExpiry: 'approve' });
  await ai.defineAgent({ name: 'clerk', tools: [ask] }).start('Ask.', { runId: 'run' });
  await ai.runs.settled();
  const [card] = (await ai.runs.requests()).items;
  now += 120_000;
  await ai.runs.drive('run');
  await ai.runs.settled();
  expect(await ai.runs.get('run')).toMatchObject({ status: 'done', text: 'Done.' });
  expect((await ai.runs.request(card?.id ?? '')).settlement).toMatchObject({ decision: { type: 'cancel' }, at: now });
});
