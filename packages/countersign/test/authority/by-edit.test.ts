// Ways round who may decide that go by an edit: people who count only for the earlier policies, and gates that cannot be asked.
import { countersign, evidenceText, memoryStore, type PolicyConfig, type Rule, verifyEvidence } from 'countersign';
import { describe, expect, test } from 'vitest';
import { BOSS, CLERK, edited, HOUR, notAllowed, openTeller } from './teller.ts';

const toIntern = { escalate: [{ after: '1h', to: { people: ['intern'] } }] } as const;
const small: PolicyConfig = { ...CLERK, ...toIntern };

describe('people to whom a request was escalated do not count for the policies of an edit', () => {
  test.each<[string, (amount: number) => { readonly policy: PolicyConfig }, readonly Rule[]]>([
    ['one policy', (amount) => ({ policy: amount > 1_000 ? BOSS : small }), []],
    [
      'several policies, in the same place',
      (amount) => ({ policy: amount > 1_000 ? BOSS : small }),
      [{ tool: 'pay', policy: { deciders: { people: ['clerk', 'intern', 'boss'] } } }],
    ],
  ])('%s', async (_, needsApproval, rules) => {
    const { runs, paid, ask, later, pending } = openTeller(
      { needsApproval: ({ amount }: any) => needsApproval(amount) },
      { rules },
    );
    const request = await ask('ann');
    later(2 * HOUR);
    const decided = await runs.decide(request.id, edited(1_000_000), { by: 'intern' });
    expect(decided.status).toBe('waiting');
    const again = await pending();
    expect(again.progress?.escalatedTo).toEqual([]);
    later(2 * HOUR);
    await runs.decide(again.id, 'approve', { by: 'intern' }).catch((error) => expect(error).toMatchObject(notAllowed));
    await runs.settled();
    expect(paid).toEqual([]);
    await runs.decide(again.id, 'approve', { by: 'boss' });
    await runs.settled();
    expect(paid).toEqual([{ amount: 1_000_000 }]);
    expect((await verifyEvidence(evidenceText(await runs.evidence(request.runId)))).problems).toEqual([]);
  });

  test('the edit is escalated as its own policies say, from then on', async () => {
    const large: PolicyConfig = { ...BOSS, escalate: [{ after: '1h', to: { people: ['chair'] } }] };
    const needsApproval = ({ amount }: any) => ({ policy: amount > 1_000 ? large : small });
    const { runs, paid, ask, later, pending } = openTeller({ needsApproval });
    const request = await ask('ann');
    later(2 * HOUR);
    await runs.decide(request.id, edited(5_000), { by: 'clerk' });
    const { id } = await pending();
    await expect(runs.decide(id, 'approve', { by: 'chair' })).rejects.toMatchObject(notAllowed);
    later(2 * HOUR);
    await runs.decide(id, 'approve', { by: 'chair' });
    await runs.settled();
    expect(paid).toEqual([{ amount: 5_000 }]);
  });

  test('where the policies stay the same, they still count', async () => {
    const { runs, paid, ask, later } = openTeller({ needsApproval: { policy: small } });
    const request = await ask('ann');
    later(2 * HOUR);
    await runs.decide(request.id, edited(5), { by: 'intern' });
    await runs.settled();
    expect(paid).toEqual([{ amount: 5 }]);
  });
});

test('a policy that is applied again does not count people to whom the earlier one was escalated', async () => {
  const store = memoryStore();
  let now = Date.now();
  const options = { store, clock: () => now };
  const before = openTeller(
    { needsApproval: { policy: small } },
    { ...options, store: memoryStore({ now: () => now }) },
  );
  const request = await before.ask('ann');
  now += 2 * HOUR;
  const worker = before.runs.work({ pollMs: 10 });
  await expect.poll(async () => (await before.pending()).progress?.escalatedTo).toHaveLength(1);
  await worker.stop();
  before.ai.applyRules([{ tool: 'pay', policy: BOSS }]);
  await before.runs.reapplyPolicy(request.id, { by: 'admin' });
  const again = await before.pending();
  expect(again.progress?.escalatedTo).toEqual([]);
  await before.runs
    .decide(again.id, 'approve', { by: 'intern' })
    .catch((error) => expect(error).toMatchObject(notAllowed));
  await before.runs.decide(again.id, 'approve', { by: 'clerk' });
  expect(before.paid).toEqual([]);
});

describe('a gate that cannot be asked about an edit refuses it', () => {
  const needsApproval = ({ amount }: any) => {
    if (amount === 666) throw new Error('No rate.');
    return { policy: amount > 1_000 ? BOSS : CLERK };
  };

  test('because it throws for this input', async () => {
    const { runs, paid, ask } = openTeller({ needsApproval });
    const request = await ask('ann');
    await expect(runs.decide(request.id, edited(666), { by: 'clerk' })).rejects.toMatchObject(notAllowed);
    await runs.decide(request.id, edited(6), { by: 'clerk' });
    await runs.settled();
    expect(paid).toEqual([{ amount: 6 }]);
  });

  test.each([
    ['chooses the policy', needsApproval],
    [
      'names the deciders',
      { policy: { deciders: ({ amount }: any) => ({ people: [amount > 1_000 ? 'boss' : 'clerk'] }) } },
    ],
  ])('because a function of another process %s', async (_, gated) => {
    const store = memoryStore();
    const { ai, pay } = openTeller({ needsApproval: gated as never }, { store, clock: Date.now });
    const gate = ai.gate(pay);
    const asked = await gate.request({ amount: 100 }, { key: 'k', by: 'ann' });
    const id = 'id' in asked ? asked.id : '';
    const server = countersign({ store });
    await expect(server.runs.decide(id, edited(1_000_000), { by: 'clerk' })).rejects.toMatchObject(notAllowed);
    expect((await ai.runs.decide(id, edited(1_000_000), { by: 'clerk' })).status).toBe('waiting');
  });

  test('nor about the call, if its process died before it asked: then nobody can approve', async () => {
    let now = Date.now();
    const store = memoryStore({ now: () => now });
    const { ai, pay } = openTeller(
      { needsApproval, preview: () => new Promise(() => undefined) },
      { store, clock: () => now },
    );
    void ai
      .gate(pay)
      .request({ amount: 100 }, { key: 'k', by: 'ann' })
      .catch(() => undefined);
    await expect.poll(async () => (await store.listRuns({ limit: 1 })).items).toHaveLength(1);
    now += 60_000;
    const other = countersign({ store, clock: () => now, rules: [{ tool: 'pay', then: 'allow' }] });
    const asked = await other.gate({ name: 'pay' }).read({ key: 'k' });
    const id = 'id' in asked ? asked.id : '';
    for (const by of ['ann', 'clerk', 'boss'])
      await expect(other.runs.decide(id, 'approve', { by })).rejects.toMatchObject(notAllowed);
  });
});

test('an edit back to what was proposed is told in the evidence', async () => {
  const policy = ({ amount }: any) => ({
    policy: amount === 100 ? CLERK : { quorum: [{ of: { people: ['clerk', 'boss'] }, count: 2 }] },
  });
  const { runs, paid, ask, pending } = openTeller({ needsApproval: policy });
  const { id, runId } = await ask('ann');
  await runs.decide(id, edited(5_000), { by: 'clerk' });
  await runs.decide((await pending()).id, edited(100), { by: 'clerk' });
  await runs.settled();
  expect(paid).toEqual([{ amount: 100 }]);
  expect((await verifyEvidence(evidenceText(await runs.evidence(runId)))).problems).toEqual([]);
});
