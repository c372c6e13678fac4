// The crash kit finds planted faults: each of these scenarios or stores breaks one promise.

import { countersign, memoryStore, z } from 'countersign';
import type { Store } from 'countersign/store';
import { type CrashScenario, crashEverywhere, type StoreUnderTest, scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { onMemory } from './subjects.ts';

/** A payment behind an approval. `config` adds options to its tool. */
function payment(config: object, changes: Partial<CrashScenario> = {}): CrashScenario {
  return {
    open({ runId, store, clock, leaseMs, effect }) {
      const model = scriptedModel(({ messages }) =>
        messages.some(({ role }) => role === 'tool') ? 'Paid.' : { calls: [{ name: 'pay', input: { amount: 5 } }] },
      );
      const ai = countersign({ model, store, clock, leaseMs, retry: false });
      const pay = ai.defineTool(
        { name: 'pay', description: '', inputSchema: z.object({ amount: z.number() }), ...config },
        async (_input, { idempotencyKey }) => effect('pay', idempotencyKey, 'paid'),
      );
      const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
      return { runs: ai.runs, begin: () => clerk.start('Pay.', { runId }) };
    },
    decide: () => 'approve',
    ...changes,
  };
}

/** The memory store with a fault. */
async function broken(change: (store: Store) => Partial<Store>): Promise<StoreUnderTest> {
  const subject = await onMemory();
  return { ...subject, store: changedStore(subject.store, change(subject.store)) };
}

test('a correct payment has no problems', async () => {
  const { problems, results } = await crashEverywhere({
    scenario: payment({ needsApproval: true }),
    makeStore: onMemory,
  });
  expect(problems).toEqual([]);
  expect(results.map(({ crashes }) => crashes[0]?.what)).toContain('effect pay');
});

test('finds a tool that is declared idempotent but is not', async () => {
  const { problems } = await crashEverywhere({ scenario: payment({ idempotent: true }), makeStore: onMemory });
  expect(problems.join('\n')).toContain('pay happened 2 times instead of 1');
  // The same problem is not reported twice.
  expect(problems.join('\n')).not.toContain('for one call');
});

test('finds a person who reruns a call that had happened', async () => {
  const scenario = payment({ needsApproval: true }, { settleDoubt: () => 'approve' });
  const { problems } = await crashEverywhere({ scenario, makeStore: onMemory });
  expect(problems.join('\n')).toContain('pay happened 2 times instead of 1');
});

test('finds a store that acknowledges a write it did not make', async () => {
  const makeStore = () => {
    let isLost = false;
    return broken((store) => ({
      append: async (append) => {
        if (isLost || append.settled.length === 0) return store.append(append);
        isLost = true;
        return { claimed: false };
      },
    }));
  };
  const { problems } = await crashEverywhere({ scenario: payment({ needsApproval: true }), makeStore });
  expect(problems.join('\n')).toContain('was decided, but is asked again');
});

test('finds a store that does not list due runs', async () => {
  const makeStore = () => broken(() => ({ due: async () => [] }));
  const { problems } = await crashEverywhere({ scenario: payment({ needsApproval: true }), makeStore });
  expect(problems.join('\n')).toContain('it is not among the due runs');
});

test('finds a store that loses an acknowledged start', async () => {
  const makeStore = async () => ({ ...(await onMemory()), another: async () => memoryStore() });
  const { problems, results } = await crashEverywhere({ scenario: payment({ needsApproval: true }), makeStore });
  expect(problems.join('\n')).toMatch(/^crash before \d+ \(effect pay\): Run .* not found in the store/m);
  expect(results.length).toBeGreaterThan(0);
});

test('finds a scenario that fails without a crash', async () => {
  const scenario: CrashScenario = {
    open({ runId, store, clock, leaseMs }) {
      const model = scriptedModel(() => {
        throw new Error('no key');
      });
      const ai = countersign({ model, store, clock, leaseMs, retry: false });
      const clerk = ai.defineAgent({ name: 'clerk' });
      return { runs: ai.runs, begin: () => clerk.start('Pay.', { runId }) };
    },
    decide: () => 'approve',
  };
  const { problems } = await crashEverywhere({ scenario, makeStore: onMemory });
  expect(problems[0]).toMatch(/^without a crash: the run failed: .*no key/);
});

/** Three payments left to their deadlines, which expire one after the other. `inner` makes two of them. */
const leftAlone: CrashScenario = {
  open({ runId, store, clock, leaseMs, effect }) {
    const asks = (calls: readonly { name: string; input: object }[]) =>
      scriptedModel(async ({ messages }) => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        return messages.some(({ role }) => role === 'tool') ? 'Paid.' : { calls };
      });
    const ai = countersign({ store, clock, leaseMs, retry: false });
    const pay = ai.defineTool(
      {
        name: 'pay',
        description: '',
        inputSchema: z.object({ leases: z.number() }),
        needsApproval: ({ leases }) => ({ expiresIn: leases * leaseMs, onExpiry: 'approve' }),
      },
      (_input, { idempotencyKey }) => effect('pay', idempotencyKey, 'paid'),
    );
    const both = [5, 4].map((leases) => ({ name: 'pay', input: { leases } }));
    const inner = ai.defineAgent({ name: 'inner', description: '', model: asks(both), tools: [pay] });
    const all = [
      { name: 'inner', input: { prompt: 'Pay.' } },
      { name: 'pay', input: { leases: 3 } },
    ];
    const clerk = ai.defineAgent({ name: 'clerk', model: asks(all), tools: [inner, pay] });
    return { runs: ai.runs, begin: () => clerk.start('Pay.', { runId }) };
  },
  decide: () => undefined,
};

test('questions left to several deadlines are not asked too often, wherever their process dies', async () => {
  const { problems, undisturbed } = await crashEverywhere({ scenario: leftAlone, makeStore: onMemory });
  expect(problems).toEqual([]);
  expect(undisturbed.decisions).toHaveLength(3);
});

test('a claim lapses before a deadline applies if the store has its own clock', async () => {
  const scenario = payment(
    { needsApproval: () => ({ expiresIn: 300, onExpiry: 'approve' }) },
    { decide: () => undefined },
  );
  const makeStore = async () => {
    const store = memoryStore();
    return { store, close: () => store.close() };
  };
  const { problems } = await crashEverywhere({ scenario, makeStore });
  expect(problems).toEqual([]);
});

test('finds a payment made twice beside another that is missing', async () => {
  const scenario: CrashScenario = {
    open({ runId, store, clock, leaseMs, effect }) {
      const model = scriptedModel(({ messages }) =>
        messages.some(({ role }) => role === 'tool') ? 'Paid.' : { calls: [{ name: 'pay' }, { name: 'wire' }] },
      );
      const ai = countersign({ model, store, clock, leaseMs, retry: false });
      const pay = ai.defineTool({ name: 'pay', description: '', idempotent: true }, (_input, { idempotencyKey }) =>
        effect('money', idempotencyKey, 'paid'),
      );
      const wire = ai.defineTool({ name: 'wire', description: '' }, async (_input, { idempotencyKey }) => {
        await new Promise((resolve) => setTimeout(resolve, 2));
        return effect('money', idempotencyKey, 'wired');
      });
      const clerk = ai.defineAgent({ name: 'clerk', tools: [pay, wire] });
      return { runs: ai.runs, begin: () => clerk.start('Pay.', { runId }) };
    },
    decide: () => 'approve',
    settleDoubt: () => 'reject',
  };
  const { problems } = await crashEverywhere({ scenario, makeStore: onMemory });
  expect(problems.join('\n')).toContain('money happened 2 times for one call instead of 1');
});

test('a call with several effects, each with its own key, is not rerun by the kit', async () => {
  const scenario: CrashScenario = {
    open({ runId, store, clock, leaseMs, effect }) {
      const model = scriptedModel(({ messages }) =>
        messages.some(({ role }) => role === 'tool') ? 'Booked.' : { calls: [{ name: 'book' }] },
      );
      const ai = countersign({ model, store, clock, leaseMs, retry: false });
      const book = ai.defineTool(
        { name: 'book', description: '', needsApproval: true },
        async (_input, { step, idempotencyKey }) => {
          await step('deposit', () => effect('deposit', `${idempotencyKey}-deposit`, 'paid'));
          await step('rest', () => effect('rest', `${idempotencyKey}-rest`, 'paid'));
          return 'booked';
        },
      );
      const clerk = ai.defineAgent({ name: 'clerk', tools: [book] });
      return { runs: ai.runs, begin: () => clerk.start('Book.', { runId }) };
    },
    decide: () => 'approve',
  };
  const { problems, results } = await crashEverywhere({ scenario, makeStore: onMemory });
  expect(problems).toEqual([]);
  expect(results.flatMap(({ crashes }) => crashes.map(({ what }) => what))).toContain('effect rest');
});

test('a doubt that a chat message withdraws counts as asked', async () => {
  const scenario: CrashScenario = {
    open({ runId, store, clock, leaseMs, effect }) {
      const model = scriptedModel(({ messages }) => {
        const answer = messages.findLast(({ role }) => role === 'tool');
        if (!answer) return { calls: [{ name: 'pay' }, { name: 'ask' }] };
        return JSON.stringify(answer.content).includes('"paid"') ? 'Paid.' : 'Nobody knows.';
      });
      const ai = countersign({ model, store, clock, leaseMs, retry: false });
      const pay = ai.defineTool({ name: 'pay', description: '' }, (_input, { idempotencyKey }) =>
        effect('pay', idempotencyKey, 'paid'),
      );
      const ask = ai.defineInterrupt({ name: 'ask', description: '' });
      const clerk = ai.defineAgent({ name: 'clerk', tools: [pay, ask] });
      const sayOnce = async (text: string) => {
        const { messages } = await ai.runs.get(runId).catch(() => ({ messages: [] }));
        if (!JSON.stringify(messages).includes(text)) await clerk.chat({ runId }).send(text);
      };
      const begin = async () => {
        await sayOnce('Pay.');
        await ai.runs.drive(runId);
        await ai.runs.settled();
        await sayOnce('Never mind.');
      };
      return { runs: ai.runs, begin };
    },
    decide: () => 'approve',
  };
  const { problems, results } = await crashEverywhere({ scenario, makeStore: onMemory });
  expect(problems).toEqual([]);
  const asked = results.flatMap(({ decisions }) => decisions.map(({ card }) => card.kind));
  expect(asked).toContain('doubt');
});

test.each<readonly [string, object, string]>([
  ['misspelt options', { crash: 2 }, '`crashEverywhere` has no option crash'],
  ['half a crash', { crashes: 0.5 }, '`crashes` of `crashEverywhere` must be a whole number'],
  ['no makeStore', { makeStore: undefined }, '`makeStore` of `crashEverywhere` must be a function'],
  ['a bare store', { makeStore: async () => memoryStore() }, '`makeStore` must return { store, close }'],
  ['no scenario', { scenario: undefined }, 'A scenario needs the functions `open` and `decide`'],
  [
    'no person',
    { scenario: { ...payment({}), decide: undefined } },
    'A scenario needs the functions `open` and `decide`',
  ],
  [
    'a promise',
    { scenario: payment({}, { open: (async () => undefined) as never }) },
    '`open` of a scenario must return { runs',
  ],
  ['no run', { scenario: payment({}, notBegun()) }, '`begin` did not start a run'],
])('rejects invalid options: %s', async (_what, given, message) => {
  const options = { scenario: payment({}), makeStore: onMemory, ...given };
  await expect(crashEverywhere(options)).rejects.toMatchObject({
    code: 'invalid-options',
    message: expect.stringContaining(message),
  });
});

/** Starts a run under another id, so that the kit does not find it. */
function notBegun(): Pick<CrashScenario, 'open'> {
  return { open: (process) => payment({}).open({ ...process, runId: `another-than-${process.runId}` }) };
}
