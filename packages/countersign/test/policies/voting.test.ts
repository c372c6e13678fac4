// Votes: who may cast one, when they settle a request, and what an edit does to them.

import { approve, countersign, memoryStore, type PolicyConfig, reject, z } from 'countersign';
import { internalsOf } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { openBank, PLACES, TWO } from './bank.ts';

const PAID = { amount: 10, currency: 'EUR' };
const edit = { type: 'approve', edit: { amount: 5 } } as const;

describe.each(PLACES)('a request with a policy (%s)', (place) => {
  test('one vote waits, the second settles, and the call runs once', async () => {
    const { runs, ask, paid, pending, types } = openBank({ place });
    const card = await ask();
    expect(card).toMatchObject({ policies: [TWO], progress: { votes: [], missing: [{ count: 2 }], round: 1 } });
    const first = await runs.decide(card, 'approve', { by: 'anna', channel: 'inbox', note: 'fine', seenForMs: 900 });
    expect(first).toMatchObject({
      status: 'waiting',
      requestId: card.id,
      votes: [{ by: 'anna', roles: ['finance'], channel: 'inbox', note: 'fine', digest: card.digest, seenForMs: 900 }],
      missing: [{ of: { roles: ['finance'] }, count: 1 }],
    });
    expect(paid).toEqual([]);
    expect((await pending()).progress).toMatchObject({ votes: [{ by: 'anna' }], missing: [{ count: 1 }] });
    const second = await runs.decide(card.id, 'approve', { by: 'ben' });
    expect(second).toMatchObject({ status: 'settled', by: 'ben', votes: [{ by: 'anna' }, { by: 'ben' }] });
    expect((await runs.wait('run')).status).toBe('done');
    expect(paid).toEqual([PAID]);
    expect((await types()).filter((type) => type === 'vote-cast' || type === 'decision-made')).toEqual([
      'vote-cast',
      'vote-cast',
      'decision-made',
    ]);
    expect((await runs.request(card.id)).settlement).toMatchObject({ votes: [{ by: 'anna' }, { by: 'ben' }] });
    expect(await runs.verify('run')).toMatchObject({ ok: true });
  });

  test('the same vote again records nothing, and a later vote replaces it', async () => {
    const { runs, ask, types } = openBank({ place, needsApproval: { policy: { ...TWO, veto: 'majority' } } });
    const { id } = await ask();
    await runs.decide(id, 'approve', { by: 'anna' });
    const before = await types();
    expect(await runs.decide(id, 'approve', { by: 'anna' })).toMatchObject({
      status: 'waiting',
      votes: [{ by: 'anna' }],
    });
    expect(await types()).toEqual(before);
    const changed = await runs.decide(id, { type: 'reject', reason: 'no' }, { by: 'anna' });
    expect(changed).toMatchObject({
      status: 'waiting',
      votes: [{ decision: { type: 'reject' } }],
      missing: [{ count: 2 }],
    });
  });

  test('an edit voids the votes before it and asks again; an approval then means the edited input', async () => {
    const { runs, ask, paid, pending } = openBank({ place });
    const card = await ask();
    await runs.decide(card.id, 'approve', { by: 'anna' });
    const edited = await runs.decide(card, edit, { by: 'ben' });
    expect(edited).toMatchObject({ status: 'waiting', requestId: `${card.id}~2`, votes: [{ by: 'ben' }] });
    // A repeated request, because its answer was lost, is told the same.
    expect(await runs.decide(card, edit, { by: 'ben' })).toEqual(edited);
    expect((await runs.request(card.id)).settlement).toMatchObject({ withdrawn: true, by: 'ben', note: 'edited' });
    const again = await pending();
    expect(again).toMatchObject({ id: `${card.id}~2`, input: { amount: 5 }, progress: { round: 2 } });
    await expect(runs.decide(card, 'approve', { by: 'cara' })).rejects.toMatchObject({ code: 'already-decided' });
    expect(await runs.decide(again, 'approve', { by: 'anna' })).toMatchObject({ status: 'settled', by: 'anna' });
    expect(await runs.decide(again, 'approve', { by: 'anna' })).toMatchObject({ status: 'settled', by: 'anna' });
    const { status, messages } = await runs.wait('run');
    expect({ status, paid }).toEqual({ status: 'done', paid: [{ amount: 5, currency: 'EUR' }] });
    if (place === 'root') {
      const part = messages.flatMap(({ content }) => content).find((one) => 'toolRequest' in one);
      expect(part?.metadata).toMatchObject({
        replacedInput: { amount: 10 },
        editedBy: 'ben',
        decision: { by: 'anna' },
      });
    }
  });

  test('decisions as data count in the same way, and those of an earlier round are refused', async () => {
    const { runs, ask, paid, pending } = openBank({ place });
    const card = await ask();
    await internalsOf(runs).resume('run', [approve(card.part, { edit: { amount: 5 }, by: 'ben' })]);
    const again = await pending();
    for (const stale of [approve(card.part), reject(card.part)])
      await expect(internalsOf(runs).resume('run', [stale], { by: 'anna' })).rejects.toMatchObject({
        code: 'already-decided',
      });
    await internalsOf(runs).resume('run', { approve: [again.part] }, { by: 'anna' });
    await runs.wait('run');
    expect(paid).toEqual([{ amount: 5, currency: 'EUR' }]);
  });

  test('one rejection settles', async () => {
    const { runs, ask, paid } = openBank({ place });
    const { id } = await ask();
    await runs.decide(id, 'approve', { by: 'anna' });
    expect(await runs.decide(id, { type: 'reject', reason: 'no' }, { by: 'ben' })).toMatchObject({ status: 'settled' });
    await expect(runs.decide(id, 'approve', { by: 'cara' })).rejects.toMatchObject({ code: 'already-decided' });
    await runs.wait('run');
    expect(paid).toEqual([]);
  });

  test('people who are no deciders are refused, and so is the one who asked', async () => {
    const { runs, ask, types } = openBank({ place, needsApproval: { policy: { ...TWO, notRequester: true } } });
    const { id } = await ask();
    const before = await types();
    const refused = { code: 'not-allowed', details: { status: 403, requestId: id } };
    await expect(runs.decide(id, 'approve', { by: 'mallory' })).rejects.toMatchObject(refused);
    await expect(runs.decide(id, 'approve', { by: 'asker' })).rejects.toMatchObject(refused);
    await expect(runs.decide(id, 'approve')).rejects.toMatchObject(refused);
    await expect(runs.decide(id, 'approve', { by: 'ben', onBehalfOf: 'anna' })).rejects.toMatchObject({
      code: 'not-allowed',
    });
    expect(await types()).toEqual(before);
    expect(await runs.decide(id, 'approve', { by: 'dora', roles: ['finance'] })).toMatchObject({ status: 'waiting' });
  });
});

test('with four eyes, an editor does not count, and the others decide on the edit', async () => {
  const { runs, ask, paid } = openBank({
    needsApproval: { policy: { deciders: { roles: ['finance'] }, notRequester: true } },
  });
  const card = await ask();
  const { requestId } = await runs.decide(card, edit, { by: 'ben' });
  await expect(runs.decide(requestId, 'approve', { by: 'ben' })).rejects.toMatchObject({ code: 'not-allowed' });
  await runs.decide(requestId, 'approve', { by: 'anna' });
  await runs.wait('run');
  expect(paid).toEqual([{ amount: 5, currency: 'EUR' }]);
});

test('a condition on the edited input adds a group', async () => {
  const policy = {
    quorum: [
      { of: { roles: ['finance'] }, count: 1 },
      { of: { roles: ['cfo'] }, count: 1, when: [{ field: 'amount', above: 100 }] },
    ],
  };
  const { runs, ask, paid } = openBank({ needsApproval: { policy } });
  const card = await ask();
  const raised = await runs.decide(card, { type: 'approve', edit: { amount: 500 } }, { by: 'ben' });
  expect(raised).toMatchObject({ status: 'waiting', missing: [{ of: { roles: ['cfo'] }, count: 1 }] });
  await runs.decide(raised.requestId, 'approve', { by: 'cara' });
  await runs.wait('run');
  expect(paid).toEqual([{ amount: 500, currency: 'EUR' }]);
});

test('a request that anyone may decide records the decision alone', async () => {
  const { runs, ask, types } = openBank({ needsApproval: () => ({ message: 'Pay?' }) });
  const card = await ask();
  expect(card).toMatchObject({ policies: [{}], progress: null });
  const decided = await runs.decide(card.id, 'approve', { by: 'anyone' });
  expect(decided).toMatchObject({ status: 'settled' });
  expect(decided).not.toHaveProperty('votes');
  await runs.wait('run');
  expect(await types()).not.toContain('vote-cast');
});

test('without a store, a decision is one vote', async () => {
  const asked = async (bank: ReturnType<typeof openBank>) => {
    const { messages, interrupts } = await bank.bank.generate({ prompt: 'Pay.' });
    const [interrupt] = interrupts;
    if (!interrupt) throw new Error('Expected a request.');
    return (by: string) => bank.bank.generate({ messages, resume: [approve(interrupt, { by })] });
  };
  const two = openBank();
  const refused = { code: 'invalid-resume', message: expect.stringContaining('stored runs') };
  await expect((await asked(two))('anna')).rejects.toMatchObject(refused);
  const one = openBank({ needsApproval: { policy: { deciders: { people: ['anna'] } } } });
  const resume = await asked(one);
  await expect(resume('ben')).rejects.toMatchObject(refused);
  await resume('anna');
  expect([...two.paid, ...one.paid]).toEqual([PAID]);
});

/** The question of a clerk, asked where the application adds this policy. */
async function askedUnder(policy: PolicyConfig) {
  const model = scriptedModel([{ calls: [{ name: 'askSlot', input: {} }] }]);
  const ai = countersign({ model, store: memoryStore(), policyFor: () => policy });
  const askSlot = ai.defineInterrupt({
    name: 'askSlot',
    description: 'Asks.',
    inputSchema: z.object({}),
    outputSchema: z.string(),
  });
  await ai.defineAgent({ name: 'clerk', tools: [askSlot] }).generate({ runId: 'run', prompt: 'When?' });
  return (await ai.runs.requests()).items[0];
}

test('a question under the one policy of the application waits for its votes, not for one more', async () => {
  const question = await askedUnder({ deciders: { roles: ['office'] } });
  expect(question?.policies).toEqual([{ deciders: { roles: ['office'] } }]);
  expect(question?.progress?.missing).toEqual([{ of: { roles: ['office'] }, count: 1 }]);
});

test('a deadline that the application lets approve does not answer for a question that says nothing of it', async () => {
  expect((await askedUnder({ onExpiry: 'approve', expireAfter: '1h' }))?.policies).toHaveLength(2);
});
