// Two processes write about the same call or decide the same question at once: the first write counts.
import { approve, countersign, memoryStore, ProviderError, type ToolConfig, z } from 'countersign';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { eventually } from '../eventually.ts';

const LEASE_MS = 60_000;
const answered = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
  messages.some(({ role }) => role === 'tool');

/** Holds the first append with such an event until `go`. */
function holding(store: Store, type: string) {
  const reached = Promise.withResolvers<void>();
  const mayGo = Promise.withResolvers<void>();
  const held = changedStore(store, {
    append: async (append) => {
      if (append.events.some((event) => event.type === type)) {
        reached.resolve();
        await mayGo.promise;
      }
      return store.append(append);
    },
  });
  return { held, reached: reached.promise, go: mayGo.resolve };
}

/** A process stalls in its body, and another takes over the run. A question is pending beside the call. */
function sleeper(config: Partial<ToolConfig> = {}) {
  let now = 1_800_000_000_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const paid: string[] = [];
  const awake = Promise.withResolvers<void>();
  const open = (on: Store, name: string, body: () => Promise<void>) => {
    const calls = [
      { name: 'pay', ref: 'p', input: {} },
      { name: 'ask', ref: 'a', input: {} },
    ];
    const model = scriptedModel((request) => (answered(request) ? 'Done.' : { calls }));
    const ai = countersign({ model, store: on, clock, leaseMs: LEASE_MS, retry: false });
    const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true, ...config }, async () => {
      paid.push(`paid by ${name}`);
      await body();
      return 'paid';
    });
    const ask = ai.defineInterrupt({ name: 'ask', description: '', outputSchema: z.string() });
    return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay, ask] }) };
  };
  const fallAsleep = async (on = store) => {
    const first = open(on, 'first', () => awake.promise);
    await first.clerk.start('Pay.', { runId: 'run' });
    await first.runs.wait('run');
    const [card] = (await first.runs.requests({ tool: 'pay' })).items;
    await first.runs.decide(card?.id ?? '', 'approve');
    await eventually(() => expect(paid).toEqual(['paid by first']));
    now += 2 * LEASE_MS;
    return first;
  };
  /** Wakes the first process. Its result is recorded although another took over. */
  const wakeUp = async () => {
    awake.resolve();
    await eventually(async () => expect(await types()).toContain('call-settled'));
  };
  const types = async () => ((await store.read('run'))?.events ?? []).map(({ type }) => type);
  return { store, open, paid, fallAsleep, wakeUp, types };
}

/** Lets the first process record its result right before the second writes such an event of the same call. */
async function wakesBefore(type: 'call-interrupted' | 'call-started', config?: Partial<ToolConfig>) {
  const { store, open, paid, fallAsleep, wakeUp, types } = sleeper(config);
  await fallAsleep();
  const { held, reached, go } = holding(store, type);
  const { runs } = open(held, 'second', async () => undefined);
  await runs.drive('run');
  await reached;
  await wakeUp();
  go();
  await runs.settled();
  expect(paid).toEqual(['paid by first']);
  return { runs, types: await types() };
}

test('a recorded result prevents the doubt that another process was about to raise', async () => {
  const { runs, types } = await wakesBefore('call-interrupted');
  expect(types.at(-1)).toBe('call-settled');
  expect((await runs.requests()).items.map(({ kind }) => kind)).toEqual(['question']);
});

test('a recorded result prevents the start that another process was about to make', async () => {
  const { types } = await wakesBefore('call-started', { idempotent: true });
  expect(types.filter((type) => type === 'call-started')).toHaveLength(1);
});

test('a doubt has no deadline, even if the approval of the tool has one', async () => {
  const { store, open, paid, fallAsleep } = sleeper({ expiresIn: 1_000, onExpiry: 'approve' });
  await fallAsleep();
  const { runs } = open(store, 'second', async () => undefined);
  await runs.drive('run');
  await runs.settled();
  const [doubt] = (await runs.requests({ tool: 'pay' })).items;
  expect(doubt).toMatchObject({ kind: 'doubt', expiresAt: null });
  expect(paid).toEqual(['paid by first']);
});

test('a late result waits for a store that is down', async () => {
  const { store, open, paid, fallAsleep, wakeUp } = sleeper();
  let isAway = false;
  const read: Store['read'] = async (...given) => {
    if (isAway) throw new ProviderError('store-failed', {}, 'away', { retryable: true });
    return store.read(...given);
  };
  await fallAsleep(changedStore(store, { read }));
  const { runs } = open(store, 'second', async () => undefined);
  await runs.drive('run');
  await runs.settled();
  expect((await runs.requests({ tool: 'pay' })).items.map(({ kind }) => kind)).toEqual(['doubt']);
  isAway = true;
  setTimeout(() => {
    isAway = false;
  }, 50);
  await wakeUp();
  expect((await runs.requests()).items.map(({ kind }) => kind)).toEqual(['question']);
  expect(paid).toEqual(['paid by first']);
});

/** A payment with a deadline, made by a deputy or by the clerk itself. */
function timed(inside: boolean, onExpiry: 'reject' | 'approve', inputSchema = z.object({ n: z.number() })) {
  let now = 1_800_000_000_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const paid: number[] = [];
  const pays = { calls: [{ name: 'pay', ref: 'p', input: { n: 1 } }] };
  const asksDeputy = { calls: [{ name: 'deputy', ref: 'd', input: { prompt: 'Pay.' } }] };
  const open = (on: Store) => {
    const model = scriptedModel((request) => (answered(request) ? 'Done.' : inside ? asksDeputy : pays));
    const ai = countersign({ model, store: on, clock, leaseMs: LEASE_MS, retry: false });
    const config = { name: 'pay', description: '', inputSchema, needsApproval: true, expiresIn: 1_000, onExpiry };
    const pay = ai.defineTool(config, ({ n }) => paid.push(n));
    const own = scriptedModel((request) => (answered(request) ? 'Done inside.' : pays));
    const deputy = ai.defineAgent({ name: 'deputy', description: '', model: own, tools: [pay] });
    return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [inside ? deputy : pay] }) };
  };
  const decisions = async () =>
    ((await store.read('run'))?.events ?? []).filter(({ type }) => type === 'decision-made');
  const pass = () => {
    now += 2_000;
  };
  return { store, open, paid, decisions, pass };
}

test.each([
  { inside: false, type: 'approve', onExpiry: 'reject' },
  { inside: true, type: 'approve', onExpiry: 'reject' },
  { inside: true, type: 'reject', onExpiry: 'approve' },
  { inside: true, type: 'approve', onExpiry: 'approve' },
] as const)('of a person and a deadline, the first decides ($inside, $type, $onExpiry)', async (given) => {
  const { inside, type, onExpiry } = given;
  const { store, open, paid, decisions, pass } = timed(inside, onExpiry);
  const { runs, clerk } = open(store);
  await clerk.start('Pay.', { runId: 'run' });
  await runs.wait('run');
  await runs.settled();
  const [card] = (await runs.requests()).items;
  // The person is in time. While their decision is on its way, a worker drives the run for its deadline.
  const { held: slow, reached: sent, go: arrive } = holding(store, 'decision-made');
  const person = open(slow);
  const deciding = person.runs.decide(card?.id ?? '', type, { by: 'ann', drive: false });
  await sent;
  pass();
  const { held, reached, go } = holding(store, 'decision-made');
  const worker = open(held);
  await worker.runs.drive('run');
  await reached;
  arrive();
  await deciding;
  go();
  await worker.runs.settled();
  expect(await runs.wait('run', { until: 'end' })).toMatchObject({ status: 'done' });
  expect(await decisions()).toHaveLength(1);
  expect(paid).toEqual(type === 'approve' ? [1] : []);
});

test('the result of a nested body is recorded even if the run is cancelled while it is written', async () => {
  const { store, open, paid } = timed(true, 'reject');
  const { clerk, runs } = open(store);
  await clerk.start('Pay.', { runId: 'run' });
  const { pending } = await runs.wait('run');
  await runs.settled();
  const reached = Promise.withResolvers<void>();
  const mayGo = Promise.withResolvers<void>();
  const append: Store['append'] = async (append) => {
    if (JSON.stringify(append.events).includes('call-settled')) {
      reached.resolve();
      await mayGo.promise;
    }
    return store.append(append);
  };
  const other = open(changedStore(store, { append }));
  await other.runs.decide(pending[0] ?? '', 'approve');
  await reached.promise;
  await runs.cancel('run');
  mayGo.resolve();
  await other.runs.settled();
  expect(paid).toEqual([1]);
  const loaded = await store.read('run');
  expect(loaded?.run.status).toBe('cancelled');
  const inside = loaded?.events.flatMap((event) => (event.type === 'call-went-on' ? event.inside : []));
  expect(inside?.map(({ type }) => type)).toContain('call-settled');
});

/** The deadline passes while an edit is validated. */
function looked(inside: boolean) {
  const looks = { pass: () => undefined as void };
  const inputSchema = z.object({ n: z.number() }).refine(async ({ n }) => {
    if (n === 2) looks.pass();
    return true;
  });
  const world = timed(inside, 'reject', inputSchema);
  looks.pass = world.pass;
  return { ...world, ...world.open(world.store) };
}

test.each([false, true])('a decision validated past its deadline is too late (%s)', async (inside) => {
  const { runs, clerk, paid, decisions } = looked(inside);
  await clerk.start('Pay.', { runId: 'run' });
  await runs.wait('run');
  const [card] = (await runs.requests()).items;
  const deciding = runs.decide(card?.id ?? '', { type: 'approve', edit: { n: 2 } });
  await expect(deciding).rejects.toMatchObject({ code: 'already-decided' });
  expect(paid).toEqual([]);
  expect(JSON.stringify(await decisions())).toContain('"by":"deadline"');
});

test.each([false, true])('a decision with a message validated past its deadline is too late (%s)', async (inside) => {
  const { clerk, paid, decisions } = looked(inside);
  const { interrupts } = await clerk.generate({ runId: 'run', prompt: 'Pay.' });
  const edited = interrupts.map((interrupt) => approve(interrupt, { edit: { n: 2 } }));
  const deciding = clerk.generate({ runId: 'run', prompt: 'And hurry.', resume: { approve: edited } });
  await expect(deciding).rejects.toMatchObject({ code: 'already-decided' });
  expect(paid).toEqual([]);
  expect(JSON.stringify(await decisions())).toContain('"by":"deadline"');
});

test('a write that may have succeeded is not repeated if it cannot be confirmed in time', async () => {
  let now = 1_800_000_000_000;
  const kept = memoryStore({ now: () => now });
  const away = () => new ProviderError('store-failed', {}, 'away', { retryable: true });
  let appends = 0;
  let unreadable = 0;
  const store = changedStore(kept, {
    append: async (append) => {
      if (!append.events.some(({ type }) => type === 'call-started')) return kept.append(append);
      appends += 1;
      if (appends === 1) {
        await kept.append(append);
        unreadable = 2;
        throw away();
      }
      now += 60_000;
      return kept.append(append);
    },
    read: async (...given) => {
      if (unreadable-- > 0) throw away();
      return kept.read(...given);
    },
  });
  // Not at once, so that the start of the run is written before.
  const model = scriptedModel(async (request) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return answered(request) ? 'Done.' : { calls: [{ name: 'look' }] };
  });
  const ai = countersign({ model, store, clock: () => now, retry: false });
  const look = ai.defineTool({ name: 'look', description: '' }, () => 'seen');
  await ai.defineAgent({ name: 'clerk', tools: [look] }).start('Go', { runId: 'run' });
  await ai.runs.settled();
  expect(appends).toBeGreaterThan(1);
  const types = (await kept.read('run'))?.events.map(({ type }) => type);
  expect(types?.filter((type) => type === 'call-started')).toHaveLength(1);
});
