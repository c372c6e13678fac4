// What came of a call after the decision on its request: one function, from the record alone, in every place that a call can be.
import { setTimeout as sleep } from 'node:timers/promises';
import { countersign, memoryStore, NotPerformed, OutcomeUnknown, type RunRequest, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { openBank, PLACES } from '../policies/bank.ts';

const ANYONE = { needsApproval: () => ({ message: 'Pay?' }) };
const at = expect.any(Number);

describe.each(PLACES)('an approved call (%s)', (place) => {
  test('runs, and is done when its body has returned', async () => {
    const held = Promise.withResolvers<void>();
    const { runs, ask } = openBank({ ...ANYONE, place, onPay: () => held.promise });
    const card = await ask();
    expect(card.outcome).toBeNull();
    await runs.decide(card, 'approve', { by: 'anna' });
    expect((await runs.request(card.id)).outcome).toEqual({ state: 'running' });
    held.resolve();
    await runs.wait('run');
    expect((await runs.request(card.id)).outcome).toMatchObject({ state: 'done', at });
    const { items } = await runs.requests({ settled: true, outcome: 'done' });
    expect(items.map(({ id }) => id)).toEqual([card.id]);
    expect(await runs.verify('run')).toMatchObject({ ok: true });
  });

  test('failed, and may have taken effect', async () => {
    const fails = () => {
      throw new Error('The bank refused.');
    };
    const { runs, ask } = openBank({ ...ANYONE, place, onPay: fails });
    const card = await ask();
    await runs.decide(card, 'approve', { by: 'anna' });
    await runs.wait('run');
    const { outcome } = await runs.request(card.id);
    // Of a `generate` in a tool, only the end of the tool is recorded.
    if (place === 'generate') expect(outcome).toMatchObject({ state: 'done' });
    else expect(outcome).toEqual({ state: 'failed', at, text: 'The bank refused.', mayHaveActed: true });
  });
});

/** A gated payment; each approved call runs `body`. */
function clerk(body: (n: number) => unknown, options: object = {}, store = memoryStore()) {
  let calls = 0;
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', input: { amount: 10 } }] },
  );
  const ai = countersign({ store, model, retry: false });
  const inputSchema = z.object({ amount: z.number() });
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema, outputSchema: z.any(), needsApproval: true, ...options },
    async () => {
      calls += 1;
      return body(calls);
    },
  );
  const agent = ai.defineAgent({ name: 'clerk', tools: [pay] });
  const pending = async (): Promise<RunRequest> => {
    const [card] = (await ai.runs.requests()).items;
    if (!card) throw new Error('Nothing is pending.');
    return card;
  };
  const ask = async () => {
    await agent.start('Pay.', { runId: 'run', by: 'asker' });
    await ai.runs.settled();
    return pending();
  };
  const outcome = async ({ id }: RunRequest) => (await ai.runs.request(id)).outcome;
  return { ai, runs: ai.runs, ask, pending, outcome, count: () => calls };
}

test.each<[unknown, object, string | null]>([
  [{ status: 'paid', reference: 4711, lines: [1] }, {}, 'status: paid, reference: 4711'],
  ['Paid.\nReference 4711', {}, 'Paid.'],
  [null, {}, null],
  [[1, 2], {}, null],
  [false, {}, 'false'],
  [
    { reference: 7 },
    { outcome: ({ reference }: { reference: number }) => `Paid,\n reference ${reference}` },
    'Paid, reference 7',
  ],
  [{ reference: 7 }, { outcome: () => undefined }, 'reference: 7'],
  [
    { reference: 7 },
    {
      outcome: () => {
        throw new Error('odd');
      },
    },
    'reference: 7',
  ],
])('the line of a result %j (tool %j) is %j', async (output, options, line) => {
  const { ask, runs, outcome } = clerk(() => output, options);
  const card = await ask();
  await runs.decide(card, 'approve');
  await runs.settled();
  expect(await outcome(card)).toEqual({ state: 'done', at, text: line });
});

test('a tool that says that it did nothing has failed without effect', async () => {
  const { ask, runs, outcome } = clerk(() => {
    throw new NotPerformed('No funds.');
  });
  const card = await ask();
  await runs.decide(card, 'approve');
  await runs.settled();
  expect(await outcome(card)).toEqual({ state: 'failed', at, text: 'No funds.', mayHaveActed: false });
  expect((await runs.requests({ settled: true, outcome: 'failed' })).items).toHaveLength(1);
});

test.each(['reject', 'cancel'] as const)('a call that people %s does not run', async (type) => {
  const { ask, runs, outcome } = clerk(() => 1);
  const card = await ask();
  await runs.decide(card, type);
  await runs.settled();
  const why = type === 'reject' ? 'rejected' : 'cancelled';
  expect(await outcome(card)).toEqual({ state: 'not-run', at, why });
});

test('a request whose run is cancelled is withdrawn, and one that expires says so', async () => {
  const one = clerk(() => 1);
  const card = await one.ask();
  await one.runs.cancel('run');
  expect(await one.outcome(card)).toEqual({ state: 'not-run', at, why: 'withdrawn' });

  const other = clerk(() => 1, { expiresIn: 1 });
  const late = await other.ask();
  await sleep(5);
  const worker = other.runs.work({ pollMs: 10 });
  await eventually(async () => expect(await other.outcome(late)).toEqual({ state: 'not-run', at, why: 'expired' }));
  await worker.stop();
});

test('an approval of a preview that has changed lets nothing run, and only the next one is done', async () => {
  let rate = 1;
  const { ask, pending, runs, outcome, count } = clerk(() => 'paid', { preview: () => ({ rate }) });
  const card = await ask();
  rate = 2;
  await runs.decide(card, 'approve');
  await runs.settled();
  expect(await outcome(card)).toEqual({ state: 'not-run', at, why: 'changed' });
  const again = await pending();
  await runs.decide(again, 'approve');
  await runs.settled();
  expect([await outcome(card), await outcome(again), count()]).toEqual([
    { state: 'not-run', at, why: 'changed' },
    { state: 'done', at, text: 'paid' },
    1,
  ]);
});

test('input that someone else proposes ends the request as edited', async () => {
  const { runs, ask } = openBank();
  const card = await ask();
  await runs.decide(card, { type: 'approve', edit: { amount: 5 } }, { by: 'anna' });
  expect((await runs.request(card.id)).outcome).toEqual({ state: 'not-run', at, why: 'edited' });
  const second = `${card.id}~2`;
  await runs.decide(second, 'approve', { by: 'ben' });
  await runs.wait('run');
  expect((await runs.request(second)).outcome).toEqual({ state: 'done', at, text: 'paid' });
  expect((await runs.request(card.id)).outcome).toEqual({ state: 'not-run', at, why: 'edited' });
});

describe('a call in doubt', () => {
  const doubted = async () => {
    const world = clerk((n) => {
      if (n === 1) throw new OutcomeUnknown('The line went dead.');
      return 'paid';
    });
    const card = await world.ask();
    await world.runs.decide(card, 'approve');
    await world.runs.settled();
    expect(await world.outcome(card)).toEqual({ state: 'unknown', at });
    expect((await world.runs.requests({ settled: true, outcome: 'unknown' })).items).toHaveLength(1);
    return { ...world, card, doubt: await world.pending() };
  };

  test('is done once a person says that it happened', async () => {
    const { card, doubt, runs, outcome } = await doubted();
    await runs.decide(doubt, { type: 'respond', output: 'paid, says the bank' });
    await runs.settled();
    const done = { state: 'done', at, text: 'paid, says the bank' };
    expect([await outcome(card), await outcome(doubt)]).toEqual([done, done]);
  });

  test('runs again if a person says so', async () => {
    const { card, doubt, runs, outcome, count } = await doubted();
    await runs.decide(doubt, 'approve');
    await runs.settled();
    const done = { state: 'done', at, text: 'paid' };
    expect([await outcome(card), await outcome(doubt), count()]).toEqual([done, done, 2]);
  });

  test('stays unknown if nobody finds out', async () => {
    const { card, doubt, runs, outcome } = await doubted();
    await runs.decide(doubt, 'reject');
    await runs.settled();
    const unknown = { state: 'unknown', at };
    expect([await outcome(card), await outcome(doubt)]).toEqual([unknown, unknown]);
  });
});

test('an answer has no outcome, because nothing runs with it', async () => {
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Thanks.' : { calls: [{ name: 'ask', input: {} }] },
  );
  const ai = countersign({ store: memoryStore(), model, retry: false });
  const question = ai.defineInterrupt({
    name: 'ask',
    description: '',
    inputSchema: z.object({}),
    outputSchema: z.string(),
  });
  await ai.defineAgent({ name: 'helper', tools: [question] }).start('Ask.', { runId: 'run' });
  await ai.runs.settled();
  const [card] = (await ai.runs.requests()).items;
  await ai.runs.decide(card?.id ?? '', { type: 'respond', output: 'blue' });
  await ai.runs.settled();
  expect((await ai.runs.request(card?.id ?? '')).outcome).toBeNull();
});

test('SQLite keeps what came of a call', async () => {
  const store = sqliteStore({ path: ':memory:' });
  const { ask, runs, outcome } = clerk(() => ({ reference: 7 }), {}, store);
  const card = await ask();
  await runs.decide(card, 'approve');
  await runs.settled();
  expect(await outcome(card)).toEqual({ state: 'done', at, text: 'reference: 7' });
  await store.close();
});

test('after an edit, the headline is that of what ran, and the earlier one stands beside it', async () => {
  const title = ({ amount }: { amount: number }) => `Pay €${amount}`;
  const { ask, runs } = clerk(() => 'paid', { title });
  const card = await ask();
  expect(card).toMatchObject({ title: 'Pay €10', earlierTitle: null });
  await runs.decide(card, { type: 'approve', edit: { amount: 7 } });
  await runs.settled();
  expect(await runs.request(card.id)).toMatchObject({ title: 'Pay €7', earlierTitle: 'Pay €10' });
  expect(await runs.verify('run')).toMatchObject({ ok: true });
});

test('a run counts the approved calls that have failed', async () => {
  const { ask, runs } = clerk(() => {
    throw new Error('No funds.');
  });
  await runs.decide(await ask(), 'approve');
  await runs.settled();
  expect(await runs.get('run')).toMatchObject({ status: 'done', failures: 1 });
  expect((await runs.list()).items).toMatchObject([{ failures: 1 }]);
});
