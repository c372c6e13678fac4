// Rules make calls ask by what their tools declare, even if the tools do not ask.

import { countersign, memoryStore, type Rule, type ToolConfig, tool, z } from 'countersign';
import { internalsOf } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { calls, only, scripted, travelled } from '../rules/support.ts';

const PAY = calls({ name: 'pay', ref: 'p', input: { amount: 5 } });
const BOSS = { deciders: { people: ['boss'] } };

/** The card of a call of `pay`, or undefined if it ran unasked. */
async function asked(rules: readonly Rule[], config: Partial<ToolConfig> = {}) {
  const { ai } = scripted([PAY, 'done'], { rules });
  ai.definePolicy('four eyes', { notRequester: true });
  const paid: unknown[] = [];
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema: z.any(), ...config } as ToolConfig,
    (input) => {
      paid.push(input);
      return 'paid';
    },
  );
  const response = await ai.generate({ prompt: 'go', tools: [pay] });
  expect(paid).toHaveLength(response.interrupts.length === 0 ? 1 : 0);
  return { metadata: response.interrupts[0]?.metadata, response, ai, pay, paid };
}

const policiesOf = async (...given: Parameters<typeof asked>) => (await asked(...given)).metadata?.policies;

test.each<[string, Rule, Partial<ToolConfig>]>([
  ['tool', { tool: 'pay', policy: BOSS }, {}],
  ['label', { label: 'money', policy: BOSS }, { labels: ['money', 'eu'] }],
  ['risk', { risk: 'high', policy: BOSS }, { risk: 'high' }],
  ['reversibility', { reversibility: 'irreversible', policy: BOSS }, { reversibility: 'irreversible' }],
  ['input', { where: [{ field: 'amount', atLeast: 5 }], policy: BOSS }, {}],
  ['a pattern', { tool: ['send_*', 'p*y'], policy: BOSS }, {}],
  ['a field that the input does not have', { where: [{ field: 'to', equals: 'bob' }], policy: BOSS }, {}],
  ['no condition', { policy: BOSS }, {}],
])('a rule by %s makes a tool ask that does not ask', async (_by, rule, config) => {
  expect(await policiesOf([rule], config)).toEqual([BOSS]);
});

test.each<[string, Rule]>([
  ['tool', { tool: ['send', 'pa', '*x'] }],
  ['label', { label: 'money' }],
  ['risk', { tool: 'pay', risk: 'low' }],
  ['reversibility', { reversibility: 'read-only' }],
  ['input', { tool: 'pay', where: [{ field: 'amount', above: 5 }] }],
  ['agent', { agent: 'clerk' }],
])('a rule by another %s does not', async (_by, rule) => {
  expect((await asked([rule], { labels: ['eu'], risk: 'high' })).metadata).toBeUndefined();
});

test('every rule that fits counts, and each policy must be satisfied', async () => {
  const rules = [
    { label: 'eu', policy: 'four eyes' },
    { tool: 'pay', policy: BOSS },
  ] as const;
  expect(await policiesOf(rules)).toEqual([BOSS]);
  expect(await policiesOf(rules, { labels: ['eu'] })).toMatchObject([{ name: 'four eyes' }, BOSS]);
  expect(await policiesOf([...rules, { tool: 'p*', policy: BOSS }])).toEqual([BOSS]);
});

test('a rule without a policy asks any one person, and an approved call runs once', async () => {
  const { metadata, response, ai, pay, paid } = await asked([{ tool: 'pay' }]);
  expect(metadata).toMatchObject({ interrupt: true, interruptKind: 'approval' });
  expect(metadata).not.toHaveProperty('policies');
  const resume = { approve: pay.approve(only(response.interrupts)) };
  await ai.generate({ tools: [pay], messages: travelled(response.messages), resume });
  expect(paid).toEqual([{ amount: 5 }]);
});

test('a deny rule beats all others and refuses the call; an allow rule removes nothing', async () => {
  const rules: readonly Rule[] = [{ tool: 'pay', then: 'allow' }, { policy: BOSS }];
  expect(await policiesOf(rules)).toEqual([BOSS]);
  const { ai } = scripted([PAY, 'done'], { rules: [...rules, { label: 'money', then: 'deny', reason: 'Not today.' }] });
  const paid: unknown[] = [];
  const pay = ai.defineTool({ name: 'pay', description: '', labels: ['money'] }, () => paid.push(1));
  const response = await ai.generate({ prompt: 'go', tools: [pay] });
  expect({ paid, interrupts: response.interrupts }).toEqual({ paid: [], interrupts: [] });
  expect(JSON.stringify(response.messages)).toContain('Not today.');
});

test('without a store, an edit meets the rules for the edited input', async () => {
  const rules: readonly Rule[] = [
    { tool: 'pay' },
    { where: [{ field: 'amount', above: 100 }], policy: BOSS },
    { where: [{ field: 'amount', above: 1_000 }], then: 'deny', reason: 'Too much.' },
  ];
  const { response, ai, pay, paid } = await asked(rules);
  const edited = (amount: number) =>
    ai.generate({
      tools: [pay],
      messages: travelled(response.messages),
      resume: { approve: pay.approve(only(response.interrupts), { edit: { amount } }) },
    });
  await expect(edited(101)).rejects.toMatchObject({ code: 'invalid-resume' });
  await expect(edited(1_001)).rejects.toThrow('Too much.');
  expect(paid).toEqual([]);
  await edited(100);
  expect(paid).toEqual([{ amount: 100 }]);
});

test('a policy that the tool names joins that of a rule; what else it asks is kept', async () => {
  const rules = [{ tool: 'pay', policy: BOSS }] as const;
  expect(await policiesOf(rules, { needsApproval: { policy: 'four eyes' } })).toMatchObject([
    { name: 'four eyes' },
    BOSS,
  ]);
  const { metadata } = await asked(rules, { needsApproval: () => ({ message: 'Sure?', risk: 'low' }) });
  expect(metadata).toMatchObject({ policies: [BOSS], risk: 'low', interrupt: { message: 'Sure?' } });
  expect(await policiesOf(rules, { needsApproval: () => false })).toEqual([BOSS]);
});

test('a rule sees the labels and the class that the gate returns for one call', async () => {
  const rules = [{ label: 'abroad', policy: BOSS }] as const;
  expect(await policiesOf(rules, { needsApproval: () => ({ labels: ['abroad'] }) })).toEqual([BOSS]);
});

test('rules hold in sub-agents and for tools made without an instance', async () => {
  const paid: unknown[] = [];
  const pay = tool({ name: 'pay', description: '', reversibility: 'irreversible' }, () => paid.push(1));
  const rules: readonly Rule[] = [{ reversibility: 'irreversible', policy: BOSS }];
  const model = scriptedModel(({ tools }) =>
    calls(tools.some(({ name }) => name === 'pay') ? { name: 'pay' } : { name: 'clerk', input: { prompt: 'Pay.' } }),
  );
  const ai = countersign({ model, store: memoryStore(), rules });
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
  const { id } = await ai.defineAgent({ name: 'root', tools: [clerk] }).start('Go');
  await internalsOf(ai.runs).rested(id);
  expect(only((await ai.runs.requests()).items)).toMatchObject({ tool: 'pay', policies: [BOSS] });
  expect(paid).toEqual([]);
  const { policies } = internalsOf(ai);
  expect([pay, clerk].map(({ definition }) => policies.asksByRule(definition))).toEqual(['always', 'never']);
});

describe('refused when defined', () => {
  const ai = () => countersign({ rules: [{ tool: 'clerk' }] });
  test.each<[string, () => unknown, string]>([
    ['rules that were not found', () => countersign({ rules: undefined as never }), 'must be an array of rules'],
    ['an unknown condition', () => ai().applyRules([{ tols: 'pay' } as never]), 'has no tols'],
    ['an undefined condition', () => ai().applyRules([{ tool: undefined as never }]), 'tool'],
    ['a policy that is true', () => ai().applyRules([{ tool: 'pay', policy: true as never }]), 'policy'],
    ['another end', () => ai().applyRules([{ then: 'approve' as never }]), 'then'],
    ['a wrong class', () => ai().applyRules([{ risk: 'huge' as never }]), 'risk'],
    ['an impossible policy', () => ai().applyRules([{ policy: { quorum: [{ of: {}, count: 0 }] } }]), 'cannot be used'],
    ['an unknown policy', () => ai().applyRules([{ policy: 'payments' }]), 'policy payments, which is not defined'],
    ['an agent', () => ai().defineAgent({ name: 'clerk' }), 'clerk, which is an agent'],
  ])('%s', (_what, define, message) => {
    expect(define).toThrow(message);
  });

  test('a run with a tool whose rule names an unknown policy', async () => {
    const model = scriptedModel(['Done.']);
    const other = countersign({ model, rules: [{ tool: 'pay', policy: 'payments' }] });
    const pay = other.defineTool({ name: 'pay', description: '' }, () => 1);
    const generate = () => other.generate({ prompt: 'Pay.', tools: [pay] });
    await expect(generate()).rejects.toThrow('A rule for pay names the policy payments');
    other.definePolicy('payments', BOSS);
    expect((await generate()).text).toBe('Done.');
    other.defineAgent({ name: 'helper' });
    expect(() => other.applyRules([{ tool: 'helper' }])).toThrow('helper, which is an agent');
  });
});
