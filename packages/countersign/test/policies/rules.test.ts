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

const policyOf = async (...given: Parameters<typeof asked>) => (await asked(...given)).metadata?.policy;

test.each<[string, Rule, Partial<ToolConfig>]>([
  ['tool', { tool: 'pay', policy: BOSS }, {}],
  ['label', { label: 'money', policy: BOSS }, { labels: ['money', 'eu'] }],
  ['risk', { risk: 'high', policy: BOSS }, { risk: 'high' }],
  ['reversibility', { reversibility: 'irreversible', policy: BOSS }, { reversibility: 'irreversible' }],
  ['no condition', { policy: BOSS }, {}],
])('a rule by %s makes a tool ask that does not ask', async (_by, rule, config) => {
  expect(await policyOf([rule], config)).toEqual(BOSS);
});

test.each<[string, Rule]>([
  ['tool', { tool: 'send', policy: true }],
  ['label', { label: 'money', policy: true }],
  ['risk', { tool: 'pay', risk: 'low', policy: true }],
  ['reversibility', { reversibility: 'read-only', policy: true }],
])('a rule by another %s does not', async (_by, rule) => {
  expect((await asked([rule], { labels: ['eu'], risk: 'high' })).metadata).toBeUndefined();
});

test('the first rule that fits counts', async () => {
  const rules = [
    { label: 'eu', policy: 'four eyes' },
    { tool: 'pay', policy: BOSS },
  ] as const;
  expect(await policyOf(rules)).toEqual(BOSS);
  expect(await policyOf(rules, { labels: ['eu'] })).toMatchObject({ name: 'four eyes' });
});

test('true asks any one person, and an approved call runs once', async () => {
  const { metadata, response, ai, pay, paid } = await asked([{ tool: 'pay', policy: true }]);
  expect(metadata).toMatchObject({ interrupt: true, interruptKind: 'approval' });
  expect(metadata).not.toHaveProperty('policy');
  const resume = { approve: pay.approve(only(response.interrupts)) };
  await ai.generate({ tools: [pay], messages: travelled(response.messages), resume });
  expect(paid).toEqual([{ amount: 5 }]);
});

test('a policy that the tool names comes first; what else it asks is kept', async () => {
  const rules = [{ tool: 'pay', policy: BOSS }] as const;
  expect(await policyOf(rules, { needsApproval: { policy: 'four eyes' } })).toMatchObject({ name: 'four eyes' });
  const { metadata } = await asked(rules, { needsApproval: () => ({ message: 'Sure?', risk: 'low' }) });
  expect(metadata).toMatchObject({ policy: BOSS, risk: 'low', interrupt: { message: 'Sure?' } });
  expect(await policyOf(rules, { needsApproval: () => false })).toEqual(BOSS);
});

test('a rule sees the labels and the class that the gate returns for one call', async () => {
  const rules = [{ label: 'abroad', policy: BOSS }] as const;
  expect(await policyOf(rules, { needsApproval: () => ({ labels: ['abroad'] }) })).toEqual(BOSS);
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
  expect(only((await ai.runs.interrupts()).items)).toMatchObject({ tool: 'pay', policy: BOSS });
  expect(paid).toEqual([]);
  expect([pay, clerk].map(({ definition }) => internalsOf(ai).policies.ruleFor(definition))).toEqual([
    rules[0],
    undefined,
  ]);
});

describe('refused when defined', () => {
  const ai = () => countersign({ rules: [{ tool: 'clerk', policy: true }] });
  test.each<[string, () => unknown, string]>([
    ['rules that were not found', () => countersign({ rules: undefined as never }), 'must be an array of rules'],
    ['an unknown condition', () => ai().applyRules([{ tols: 'pay', policy: true } as never]), 'has no option tols'],
    ['an undefined condition', () => ai().applyRules([{ tool: undefined as never, policy: true }]), 'tool'],
    ['no policy', () => ai().applyRules([{ tool: 'pay' } as never]), 'policy'],
    ['a wrong class', () => ai().applyRules([{ risk: 'huge' as never, policy: true }]), 'risk'],
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
    expect(() => other.applyRules([{ tool: 'helper', policy: true }])).toThrow('helper, which is an agent');
  });
});
