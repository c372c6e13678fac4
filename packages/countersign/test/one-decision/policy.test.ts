// `mayDecide` of `runs.decide`: the policy sees the input that would run, and a decision is recorded only if it returns true.
import { countersign, memoryStore, z } from 'countersign';
import { internalsOf, type ProposedDecision, type Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';

const upTo100 = ({ input }: ProposedDecision) => (input as { amount: number }).amount <= 100;

async function asked(store: Store = memoryStore(), inside = false) {
  const paid: unknown[] = [];
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', ref: 'p', input: { amount: 10 } }] },
  );
  const ai = countersign({ model, store, retry: false });
  const inputSchema = z.object({ amount: z.number(), currency: z.string().default('EUR') });
  const pay = ai.defineTool({ name: 'pay', description: '', inputSchema, needsApproval: true }, (input) => {
    paid.push(input);
    return 'paid';
  });
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
  const boss = ai.defineAgent({
    name: 'boss',
    model: scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'clerk', ref: 'c', input: { prompt: 'Pay.' } }] },
    ),
    tools: [clerk],
  });
  await (inside ? boss : clerk).start('Pay.', { runId: 'run', by: 'ann' });
  const { pending } = await internalsOf(ai.runs).rested('run');
  return { ai, runs: ai.runs, pay, paid, card: pending[0] ?? '' };
}

describe.each([
  ['of the run', false],
  ['of a sub-agent', true],
])('a call %s', (_where, inside) => {
  test('an edit that the policy does not allow is rejected, and the request stays pending', async () => {
    const { runs, paid, card } = await asked(memoryStore(), inside);
    const edit = { amount: 1_000_000 };
    const deciding = runs.decide(card, { type: 'approve', edit }, { by: 'bob', mayDecide: upTo100 });
    await expect(deciding).rejects.toMatchObject({ code: 'not-allowed', details: { interruptId: card, status: 403 } });
    await runs.settled();
    expect({ paid, pending: (await runs.get('run')).pending }).toEqual({ paid: [], pending: [card] });
  });

  test('the policy sees exactly the input that then runs, defaults included', async () => {
    const { runs, paid, card } = await asked(memoryStore(), inside);
    const seen: ProposedDecision[] = [];
    const mayDecide = (proposed: ProposedDecision) => {
      seen.push(proposed);
      return upTo100(proposed);
    };
    await runs.decide(card, { type: 'approve', edit: { amount: 90 } }, { by: 'bob', mayDecide });
    await runs.settled();
    expect(paid).toEqual([{ amount: 90, currency: 'EUR' }]);
    expect(seen).toMatchObject([
      {
        interruptId: card,
        runId: 'run',
        startedBy: 'ann',
        tool: 'pay',
        kind: 'approval',
        input: paid[0],
        part: { toolRequest: { input: { amount: 10 } } },
        decision: { type: 'approve', edit: { amount: 90 } },
      },
    ]);
  });
});

test.each([
  ['approve', { amount: 10, currency: 'EUR' }],
  ['reject', { amount: 10, currency: 'EUR' }],
  [
    { type: 'restart', replaceInput: { amount: 7, currency: 'USD' } },
    { amount: 7, currency: 'USD' },
  ],
] as const)('the policy sees the input that %j would run', async (decision, input) => {
  const { runs, card } = await asked();
  let seen: unknown;
  const mayDecide = (proposed: ProposedDecision) => {
    seen = proposed.input;
    return true;
  };
  await runs.decide(card, decision, { mayDecide, drive: false });
  expect(seen).toEqual(input);
});

test.each([false, undefined, 'a policy that returns %j rejects the decision', 1])(
  'a policy that returns %j refuses',
  async (answer) => {
    const { runs, card, paid } = await asked();
    const deciding = runs.decide(card, 'approve', { mayDecide: () => answer as boolean });
    await expect(deciding).rejects.toMatchObject({ code: 'not-allowed' });
    expect(paid).toEqual([]);
  },
);

test('a policy that throws records nothing', async () => {
  const { runs, card } = await asked();
  const mayDecide = () => Promise.reject(new Error('The directory is down.'));
  await expect(runs.decide(card, 'approve', { mayDecide })).rejects.toThrow('The directory is down.');
  expect((await runs.get('run')).pending).toEqual([card]);
});

test('the policy checks each of several decisions, and one refusal stops them all', async () => {
  const { runs, pay, paid, card } = await asked();
  const { part } = await runs.interrupt(card);
  const resume = { approve: [pay.approve(part, { edit: { amount: 101, currency: 'EUR' } })] };
  await expect(internalsOf(runs).resume('run', resume, { mayDecide: upTo100 })).rejects.toMatchObject({
    code: 'not-allowed',
  });
  expect(paid).toEqual([]);
});

test('the policy runs again on the stored run after a version conflict', async () => {
  const store = memoryStore();
  let refuse = false;
  const racing = changedStore(store, {
    append: (append) => {
      if (refuse) {
        refuse = false;
        return store.append({ ...append, expectedVersion: 0 });
      }
      return store.append(append);
    },
  });
  const { runs, card, paid } = await asked(racing);
  let asks = 0;
  refuse = true;
  await runs.decide(card, 'approve', { mayDecide: () => ++asks > 0 });
  await runs.settled();
  expect({ asks, paid: paid.length }).toEqual({ asks: 2, paid: 1 });
});
