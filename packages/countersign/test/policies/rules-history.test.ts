// Versions of rules and policies, and what the past suggests.
import { countersign, memoryStore, type PolicyConfig, type Rule, z } from 'countersign';
import { rulesOf } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';

test('each version of rules and policies is recorded once, with who, when and the difference', async () => {
  const store = memoryStore({ now: () => 7 });
  const deployed = (rules: readonly Rule[], policies: Readonly<Record<string, PolicyConfig>>) => {
    const ai = countersign({ store, rules });
    for (const [name, policy] of Object.entries(policies)) ai.definePolicy(name, policy);
    return rulesOf(ai);
  };
  expect(await deployed([], {}).record('ann')).toBe(false);
  const deciders = () => ({ people: ['ann'] });
  const first = deployed([{ tool: 'pay' }], { payments: { notRequester: true }, letters: { deciders } });
  expect((await Promise.all([first.record('ann'), first.record('ann')])).filter(Boolean)).toHaveLength(1);
  const second = deployed([{ tool: 'pay', policy: 'payments' }], { payments: {} });
  expect(await second.record('ben')).toBe(true);
  expect(await second.record('cleo')).toBe(false);
  const [newest, oldest, ...none] = await second.versions(5);
  expect(none).toEqual([]);
  expect(newest).toMatchObject({ number: 2, by: 'ben', at: 7 });
  expect(newest?.difference).toEqual({
    added: { rules: [{ tool: 'pay', policy: 'payments' }], policies: {} },
    removed: { rules: [{ tool: 'pay' }], policies: { letters: { deciders: 'a function: deciders' } } },
    changed: { payments: { before: { notRequester: true }, after: {} } },
  });
  expect(oldest).toMatchObject({ number: 1, by: 'ann', difference: { added: { rules: [{ tool: 'pay' }] } } });
});

const model = scriptedModel(({ messages }) => {
  const said = (messages[0]?.content[0] as { text?: string } | undefined)?.text ?? '{}';
  return messages.at(-1)?.role === 'tool' ? 'done' : { calls: [{ name: 'pay', input: JSON.parse(said) }] };
});

test('a group of calls that were always approved suggests a grant, and one with a rejected call does not', async () => {
  const ai = countersign({ model, store: memoryStore() });
  const inputSchema = z.object({ to: z.string(), amount: z.number() });
  const needsApproval = { policy: { deciders: { people: ['ben'] } } };
  const pay = ai.defineTool({ name: 'pay', description: '', inputSchema, needsApproval }, () => 'paid');
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
  const asked = async (to: string, amount: number, decision: 'approve' | 'reject') => {
    const { id } = await clerk.start(JSON.stringify({ to, amount }), { by: 'ann' });
    const [request = ''] = (await ai.runs.wait(id)).pending;
    await ai.runs.decide(request, decision, { by: 'ben' });
    return request;
  };
  for (let amount = 100; amount <= 500; amount += 100) await asked('ACME', amount, 'approve');
  for (let amount = 1; amount <= 4; amount += 1) await asked('Globex', amount, 'approve');
  await asked('Globex', 9, 'reject');
  const last = await asked('ACME', 50, 'approve');
  const [suggestion, ...others] = await rulesOf(ai).suggestions(0);
  expect(others).toEqual([]);
  expect(suggestion).toMatchObject({
    tool: 'pay',
    requestId: last,
    approvedBy: 'ben',
    evidence: { matching: 6, approved: 6, edited: 0, rejected: 0 },
    text: '6 of 6 approved without change, to ACME, amount at most 500; would have saved 6 questions, would have let no rejected one pass',
  });
  if (!suggestion) return;
  // It is given as every grant is: by the person who approved the request.
  await expect(ai.grants.give(last, suggestion.grant, { by: 'ann' })).rejects.toThrow();
  await ai.grants.give(last, suggestion.grant, { by: 'ben' });
  const { id } = await clerk.start(JSON.stringify({ to: 'ACME', amount: 500 }), { by: 'ann' });
  expect((await ai.runs.wait(id)).status).toBe('done');
  const { changes } = await rulesOf(ai).replay({
    since: 0,
    grants: [{ tool: 'pay', uses: 4, where: [{ field: 'to', equals: 'ACME' }] }],
  });
  expect(changes.runs).toMatchObject({ count: 4, approved: 4, rejected: 0 });
  expect(changes.runs.calls[0]).toMatchObject({ tool: 'pay', decided: 'approved' });
});
