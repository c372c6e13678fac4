// `policyFor`: who decides a request follows from the input that would run. It is recorded with the request, and an edit asks it anew.
import { countersign, memoryStore, type PolicyFor, type PolicyRequest, z } from 'countersign';
import { internalsOf, type Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';

/** Bob decides up to 100, and the boss decides more. */
const upTo100: PolicyFor = ({ input }) => ({
  deciders: { people: [(input as { amount: number }).amount <= 100 ? 'bob' : 'boss'] },
});

async function asked(policyFor: PolicyFor, store: Store = memoryStore(), inside = false) {
  const paid: unknown[] = [];
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', ref: 'p', input: { amount: 10 } }] },
  );
  const ai = countersign({ model, store, retry: false, policyFor });
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
  test('an edit beyond the limit does not run before the people for that input agree', async () => {
    const { runs, paid, card } = await asked(upTo100, memoryStore(), inside);
    const edit = { amount: 1_000_000 };
    const edited = await runs.decide(card, { type: 'approve', edit }, { by: 'bob' });
    expect(edited).toMatchObject({ status: 'waiting', missing: [{ of: { people: ['boss'] }, count: 1 }] });
    const next = edited.requestId;
    await runs.settled();
    expect({ paid, pending: (await runs.get('run')).pending }).toEqual({ paid: [], pending: [next] });
    await expect(runs.decide(next, 'approve', { by: 'bob' })).rejects.toMatchObject({
      code: 'not-allowed',
      details: { requestId: next, status: 403 },
    });
    await runs.decide(next, 'approve', { by: 'boss' });
    await runs.settled();
    expect(paid).toEqual([{ amount: 1_000_000, currency: 'EUR' }]);
  });

  test('policyFor sees exactly the input that then runs, defaults included', async () => {
    const seen: PolicyRequest[] = [];
    const policyFor: PolicyFor = (request) => {
      seen.push(request);
      return upTo100(request);
    };
    const { runs, paid, card } = await asked(policyFor, memoryStore(), inside);
    await runs.decide(card, { type: 'approve', edit: { amount: 90 } }, { by: 'bob' });
    await runs.settled();
    expect(paid).toEqual([{ amount: 90, currency: 'EUR' }]);
    const request = { runId: 'run', startedBy: 'ann', requesters: ['ann'], tool: 'pay', kind: 'approval' };
    expect(seen).toMatchObject([
      { ...request, input: { amount: 10, currency: 'EUR' } },
      { ...request, input: paid[0] },
    ]);
  });

  test('a person whom the policy does not name cannot decide, and the request stays pending', async () => {
    const { runs, paid, card } = await asked(upTo100, memoryStore(), inside);
    for (const decision of ['approve', 'reject', { type: 'approve', edit: { amount: 1 } }] as const)
      await expect(runs.decide(card, decision, { by: 'eve' })).rejects.toMatchObject({ code: 'not-allowed' });
    await expect(runs.decide(card, 'approve')).rejects.toMatchObject({ code: 'not-allowed' });
    expect({ paid, pending: (await runs.get('run')).pending }).toEqual({ paid: [], pending: [card] });
  });
});

test('a restart with another input asks policyFor about that input', async () => {
  const { runs, paid, card } = await asked(upTo100);
  const restart = { type: 'restart', replaceInput: { amount: 700, currency: 'USD' } } as const;
  expect(await runs.decide(card, restart, { by: 'bob' })).toMatchObject({ status: 'waiting' });
  expect(paid).toEqual([]);
});

test.each<[string, () => unknown]>([
  ['returns a number', () => 1],
  ['names a policy that is not defined', () => 'payments'],
  ['throws', () => Promise.reject(new Error('The directory is down.'))],
])('if policyFor %s, nobody can approve, and the card says why', async (_how, policyFor) => {
  const { runs, card, paid } = await asked(policyFor as PolicyFor);
  const { policies } = await runs.request(card);
  expect(policies.flatMap(({ warnings = [] }) => warnings)).toHaveLength(1);
  await expect(runs.decide(card, 'approve', { by: 'boss' })).rejects.toMatchObject({ code: 'not-allowed' });
  expect(paid).toEqual([]);
});

test('if policyFor returns nothing, anyone may decide', async () => {
  const { runs, card, paid } = await asked(() => undefined);
  expect((await runs.request(card)).policies).toEqual([{}]);
  await runs.decide(card, 'approve', { by: 'eve' });
  await runs.settled();
  expect(paid).toHaveLength(1);
});

test('each of several decisions is checked, and one refusal stops them all', async () => {
  const { runs, pay, paid, card } = await asked(upTo100);
  const { part } = await runs.request(card);
  const resume = { approve: [pay.approve(part)] };
  await expect(internalsOf(runs).resume('run', resume, { by: 'eve' })).rejects.toMatchObject({ code: 'not-allowed' });
  await internalsOf(runs).resume(
    'run',
    { approve: [pay.approve(part, { edit: { amount: 101, currency: 'EUR' } })] },
    { by: 'bob' },
  );
  await runs.settled();
  expect(paid).toEqual([]);
});

test('a grant does not let a call run that its giver could not approve', async () => {
  const { ai, runs, pay, paid, card } = await asked(upTo100);
  const expiresAt = Date.now() + 3_600_000;
  await runs.decide(card, 'approve', { by: 'bob', grant: { uses: 5, expiresAt, serves: { people: ['ann'] } } });
  await runs.settled();
  expect(paid).toHaveLength(1);
  const amounts = [90, 1_000_000];
  for (const [index, amount] of amounts.entries()) {
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', ref: 'p', input: { amount } }] },
    );
    await ai
      .defineAgent({ name: `clerk-${index}`, model, tools: [pay] })
      .start('Pay.', { runId: `n${index}`, by: 'ann' });
    await internalsOf(runs).rested(`n${index}`);
  }
  expect(paid).toMatchObject([{ amount: 10 }, { amount: 90 }]);
  expect((await runs.get('n1')).pending).toHaveLength(1);
});

test('a decision is counted again on the stored run after a version conflict', async () => {
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
  let asks = 0;
  const policyFor: PolicyFor = (request) => {
    asks += 1;
    return upTo100(request);
  };
  const { runs, card, paid } = await asked(policyFor, racing);
  refuse = true;
  await runs.decide(card, { type: 'approve', edit: { amount: 9 } }, { by: 'bob' });
  await runs.settled();
  expect({ asks, paid: paid.length }).toEqual({ asks: 3, paid: 1 });
});
