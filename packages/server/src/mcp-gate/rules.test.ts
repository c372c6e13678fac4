// The rules of the MCP gateway and of the hook: those of the engine, and what only a tool of another server has.
import { expect, test } from 'vitest';
import { descriptionOf, judge, type McpRules, type McpTool, parseRules } from './rules.ts';

const call = (tool: McpTool | string, input: unknown = {}) => ({
  tool: typeof tool === 'string' ? { name: tool } : tool,
  input,
  agent: 'gate',
});
const says = (rules: McpRules, tool: McpTool | string, input?: unknown) => judge(rules, call(tool, input)).then;

test('deny beats ask, and ask beats allow, in any order', () => {
  const allow = { tool: 'pay', then: 'allow' } as const;
  const ask = { tool: 'pay', where: [{ field: 'amount', above: 20 }] };
  const deny = { tool: 'pay', where: [{ field: 'amount', above: 500 }], then: 'deny', reason: 'too much' } as const;
  for (const rules of [
    [allow, ask, deny],
    [deny, ask, allow],
  ]) {
    expect([5, 50, 600].map((amount) => says({ rules }, 'pay', { amount }))).toEqual(['run', 'ask', 'deny']);
    expect(judge({ rules }, call('pay', { amount: 600 }))).toMatchObject({ why: 'too much' });
  }
});

test('where a field is missing, a rule that allows does not fit, and the others do', () => {
  const where = [{ field: 'amount', atMost: 20 }];
  expect(says({ rules: [{ where, then: 'allow' }] }, 'pay')).toBe('ask');
  expect(says({ otherwise: 'allow', rules: [{ where }] }, 'pay')).toBe('ask');
  expect(says({ otherwise: 'allow', rules: [{ where, then: 'deny' }] }, 'pay')).toBe('deny');
});

test('a limit is refused: calls that such rules allow have no record to count in', () => {
  const rules = [{ tool: 'pay', limit: { calls: 20, per: '1h' } }];
  expect(() => parseRules({ rules }, 'rules.json')).toThrow('works only in `countersign({ rules })`');
  expect(() => parseRules({ rules: [{ then: 'freeze' }] }, 'rules.json')).toThrow('one of allow, ask, deny, observe');
});

test('`otherwise` is for calls that no rule fits, and asks by default', () => {
  const rules = [{ tool: 'pay' }];
  expect(says({}, 'pay')).toBe('ask');
  expect(says({ otherwise: 'allow', rules }, 'pay')).toBe('ask');
  expect(says({ otherwise: 'allow', rules }, 'list')).toBe('run');
  expect(says({ otherwise: 'deny', rules }, 'list')).toBe('deny');
});

test('the annotations of a server never weaken: such a rule asks even for tools that are annotated otherwise', () => {
  const harmless = { name: 'wipe', annotations: { readOnlyHint: true, destructiveHint: false } };
  const rules = [{ annotations: { destructiveHint: true }, then: 'deny' }] as const;
  expect(says({ otherwise: 'allow', rules }, 'wipe')).toBe('deny');
  expect(says({ otherwise: 'allow', rules }, harmless)).toBe('ask');
  expect(says({ rules: [{ annotations: { readOnlyHint: true }, then: 'allow' }] }, harmless)).toBe('ask');
  expect(says({ otherwise: 'allow', rules: [{ risk: 'high', then: 'deny' }] }, harmless)).toBe('ask');
});

test('the operator says what a tool is, and rules go by it', () => {
  const rules: McpRules = {
    otherwise: 'allow',
    tools: { '*': { risk: 'low' }, 'pay_*': { risk: 'high', labels: ['money'], title: 'Pay' } },
    rules: [
      { label: 'money', policy: 'four eyes' },
      { risk: 'low', then: 'allow' },
    ],
  };
  expect([says(rules, 'pay_all'), says(rules, 'list')]).toEqual(['ask', 'run']);
  expect(descriptionOf('bank', { name: 'pay_all' }, rules)).toMatchObject({
    name: 'mcp__bank__pay_all',
    title: 'Pay',
    risk: 'high',
    rules: [{ policy: 'four eyes', then: 'ask' }],
  });
});

test.each([
  ['a rule of the last release', { rules: [{ tool: 'pay', action: 'ask' }] }, '`rules[0]` has no action; it has tool,'],
  ['a word that is none', { rules: [{ then: 'perhaps' }] }, '`rules[0].then` must be one of allow, ask, deny'],
  ['a condition that was not found', { rules: [{ tool: undefined }] }, '`rules[0].tool` must be the name of a tool'],
  ['allowing by annotations', { rules: [{ annotations: {}, then: 'allow' }] }, 'which the MCP server writes itself'],
  ['a policy that nobody can satisfy', { rules: [{ policy: { deciders: {} } }] }, 'names no people and no roles'],
  ['a policy of functions', { rules: [{ policy: { deciders: () => ({}) } }] }, 'one that is data'],
  ['an unknown field', { rule: [] }, 'rule'],
])('refuses %s', (_what, rules, problem) => {
  expect(() => parseRules(rules, 'rules.json')).toThrow(problem);
});
