// Which events share one append, and that no call acts before its start is durable.
import { countersign, memoryStore, ProviderError, z } from 'countersign';
import { type Append, internalsOf, type Store } from 'countersign/store';
import { type ScriptStep, scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';

type Watched = {
  readonly store: Store;
  readonly appends: Append[];
  before: (append: Append) => Promise<void> | void;
  after: () => void;
  reading: () => void;
};

/** A store that shows each append before it is written. */
function watched(): Watched {
  const inner = memoryStore();
  const watching: Watched = {
    appends: [],
    before: () => undefined,
    after: () => undefined,
    reading: () => undefined,
    store: Object.assign(Object.create(inner) as Store, {
      ...bound(inner),
      append: async (append: Append) => {
        await watching.before(append);
        const appended = await inner.append(append);
        watching.appends.push(append);
        watching.after();
        return appended;
      },
      read: (...args: Parameters<Store['read']>) => {
        watching.reading();
        return inner.read(...args);
      },
    }),
  };
  return watching;
}

/** Binds the methods of the store. */
function bound(store: Store): Partial<Store> {
  const names = ['read', 'claim', 'renew', 'release', 'due', 'listRuns', 'listRequests', 'request', 'now'] as const;
  const rest = ['watch', 'migrate', 'close'] as const;
  return Object.fromEntries([...names, ...rest].map((name) => [name, store[name].bind(store)]));
}

function bank(script: readonly ScriptStep[], store: Store, leaseMs = 15_000) {
  const payments: number[] = [];
  const ai = countersign({ model: scriptedModel(script), store, retry: false, leaseMs });
  const pay = ai.defineTool(
    { name: 'pay', description: 'Pays.', inputSchema: z.object({ amount: z.number() }), needsApproval: true },
    ({ amount }) => {
      payments.push(amount);
      return 'paid';
    },
  );
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
  return { clerk, runs: ai.runs, payments };
}

const payFive: ScriptStep = { calls: [{ name: 'pay', ref: 'p', input: { amount: 5 } }] };
const typesOf = ({ events }: Append) => events.map(({ type }) => type);

async function paused(script: readonly ScriptStep[], leaseMs?: number) {
  const watching = watched();
  const { clerk, ...rest } = bank(script, watching.store, leaseMs);
  const { id } = await clerk.start('Pay.', { runId: 'run' });
  const { pending } = await internalsOf(rest.runs).rested(id);
  return { ...watching, watching, ...rest, clerk, id, card: pending[0] ?? '' };
}

test('a pause is one append, a decision with the start of its call another, and the end a third', async () => {
  const { appends, runs, card, payments } = await paused([payFive, 'Paid.']);
  expect(appends.map(typesOf)).toEqual([['user-spoke', 'model-replied', 'call-interrupted']]);
  expect(appends[0]?.claim?.how).toBe('pass');
  await runs.decide(card, 'approve');
  expect(await internalsOf(runs).rested('run')).toMatchObject({ status: 'done', text: 'Paid.' });
  expect(appends.slice(1).map(typesOf)).toEqual([
    ['decision-made', 'call-started'],
    ['call-settled', 'model-replied'],
  ]);
  expect(appends.slice(1).map(({ claim }) => claim?.how)).toEqual(['enter', 'release']);
  expect(payments).toEqual([5]);
});

test('the body does not run and the decision is not acknowledged before the start is durable', async () => {
  const { watching, runs, card, payments } = await paused([payFive, 'Paid.']);
  const written = Promise.withResolvers<void>();
  watching.before = () => written.promise;
  let acknowledged = false;
  const deciding = runs.decide(card, 'approve').then(() => {
    acknowledged = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect({ payments, acknowledged }).toEqual({ payments: [], acknowledged: false });
  written.resolve();
  await deciding;
  await runs.settled();
  expect(payments).toEqual([5]);
});

test('a decision on a run claimed by another process is recorded but starts nothing', async () => {
  const { store, appends, runs, card, payments, id } = await paused([payFive, 'Paid.']);
  await store.claim(id, 'somebody else', 60_000);
  await runs.decide(card, 'approve', { by: 'ann' });
  await runs.settled();
  expect(appends.slice(1).map(typesOf)).toEqual([['decision-made']]);
  expect(payments).toEqual([]);
  await store.release(id, 'somebody else');
  await runs.drive(id);
  expect(await internalsOf(runs).rested(id)).toMatchObject({ status: 'done' });
  expect(payments).toEqual([5]);
});

test('a decision that could not be written has no effect and emits no chunk', async () => {
  const { watching, runs, card, payments, id } = await paused([payFive, 'Paid.']);
  const chunks: unknown[] = [];
  watching.before = () => {
    throw new ProviderError('store-failed', {}, 'The disk is read-only.', { retryable: false });
  };
  const deciding = runs.decide(card, 'approve', { onChunk: (chunk) => chunks.push(chunk) });
  await expect(deciding).rejects.toMatchObject({ code: 'store-failed' });
  await runs.settled();
  expect({ payments, chunks }).toEqual({ payments: [], chunks: [] });
  watching.before = () => undefined;
  expect(await runs.get(id)).toMatchObject({ status: 'waiting', version: 3, pending: [card] });
  await runs.decide(card, 'approve', { onChunk: (chunk) => chunks.push(chunk) });
  await runs.settled();
  expect(payments).toEqual([5]);
  expect(chunks.length).toBeGreaterThan(0);
});

test('a decision whose answer was lost is found in the store and continues', async () => {
  const { watching, appends, runs, card, payments } = await paused([payFive, 'Paid.']);
  const away = () => {
    throw new ProviderError('store-failed', {}, 'The connection was lost.', { retryable: true });
  };
  watching.after = () => {
    watching.after = () => undefined;
    watching.reading = () => {
      watching.reading = () => undefined;
      away();
    };
    away();
  };
  await runs.decide(card, 'approve');
  expect(await internalsOf(runs).rested('run')).toMatchObject({ status: 'done', pending: [] });
  expect(payments).toEqual([5]);
  expect(appends.slice(1).map(typesOf)).toEqual([
    ['decision-made', 'call-started'],
    ['call-settled', 'model-replied'],
  ]);
});

test.each([
  { answer: 'refused', lost: 'before' },
  { answer: 'lost', lost: 'after' },
] as const)(
  'a store that is down for longer than a lease ($answer answer) does not stop a decision',
  async ({ lost }) => {
    const leaseMs = 2_000;
    const { watching, runs, card, payments } = await paused([payFive, 'Paid.'], leaseMs);
    const backAt = performance.now() + leaseMs + 100;
    const away = () => {
      if (performance.now() < backAt)
        throw new ProviderError('store-failed', {}, 'The connection was lost.', { retryable: true });
    };
    watching[lost] = () => {
      watching.reading = away;
      away();
    };
    await runs.decide(card, 'approve');
    expect(await internalsOf(runs).rested('run')).toMatchObject({ status: 'done', pending: [] });
    expect(payments).toEqual([5]);
  },
);

test('a run that already exists is not started again', async () => {
  const { clerk, appends, runs, id } = await paused([payFive, 'Nobody hears this.']);
  await expect(clerk.start('Pay.', { runId: id })).rejects.toMatchObject({ code: 'run-exists' });
  await runs.settled();
  expect(appends).toHaveLength(1);
  expect(await runs.get(id)).toMatchObject({ status: 'waiting', version: 3 });
});

test('a model that fails at once leaves a failed run, and the start is accepted', async () => {
  const { store, appends } = watched();
  const { clerk, runs } = bank([], store);
  await clerk.start('Pay.', { runId: 'run' });
  expect(await internalsOf(runs).rested('run')).toMatchObject({ status: 'failed' });
  expect(appends.map(typesOf)).toEqual([['user-spoke', 'run-failed']]);
  expect(await runs.get('run')).toMatchObject({ status: 'failed', error: { code: 'provider-failed' } });
});

test("the bodies of many calls do not wait for each other's results", async () => {
  const watching = watched();
  const calls = Array.from({ length: 30 }, (_, amount) => ({ name: 'pay', input: { amount } }));
  const { clerk, runs, payments } = bank([{ calls }, 'Done.'], watching.store);
  const chat = clerk.chat({ runId: 'run' });
  const { interrupts } = await chat.send('Pay all.');
  watching.appends.length = 0;
  expect((await chat.send({ resume: { approve: [...interrupts] } })).text).toBe('Done.');
  expect(payments).toHaveLength(calls.length);
  // The decisions with all starts, the results, and the end.
  expect(watching.appends.length).toBeLessThan(6);
  expect(await runs.verify('run')).toMatchObject({ ok: true });
});
