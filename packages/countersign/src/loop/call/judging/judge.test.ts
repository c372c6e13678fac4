// A plain tool is judged without asking every source. That must give what asking them would have given.
import { expect, test } from 'vitest';
import { ANYONE } from '../../../core/authority/policy.ts';
import type { Driver } from '../../run.ts';
import type { ToolDefinition } from '../../tool/definition.ts';
import { tool } from '../../tool/tool.ts';
import { judge, judgedPlainly } from './judge.ts';

const policies: Driver['policies'] = { named: new Map(), rules: [] };
const driverWith = (more: Partial<Driver['policies']> = {}, asker?: Driver['asker']): Driver =>
  ({ policies: { ...policies, ...more }, ...(asker && { asker }), context: {} }) as unknown as Driver;
const asker = { runId: 'run', agent: 'clerk', startedBy: 'ann' };
const pay = (options: object = {}): ToolDefinition =>
  tool({ name: 'pay', description: '', needsApproval: true, ...options }, async () => 'paid').definition;

const fully = (driver: Driver, definition: ToolDefinition) =>
  judge(driver, { tool: definition, input: {}, json: {}, ctx: {} as never, requesters: [] });

test.each<[string, ToolDefinition, Driver]>([
  ['a tool that asks', pay(), driverWith()],
  [
    'a tool with times and labels',
    pay({ expireAfter: '1h', remind: ['5m'], labels: ['money'], risk: 'high' }),
    driverWith(),
  ],
  ['in a stored run', pay(), driverWith({}, asker)],
  ['in a stored run where anyone decides', pay(), driverWith({ defaultDeciders: () => undefined }, asker)],
])('%s', async (_name, definition, driver) => {
  const plainly = judgedPlainly(driver, definition);
  expect(plainly).toBeDefined();
  expect(plainly).toEqual(await fully(driver, definition));
});

test.each<[string, ToolDefinition, Driver]>([
  ['its gate is a function', pay({ needsApproval: () => true }), driverWith()],
  ['it names a policy', pay({ needsApproval: { policy: { notRequester: true } } }), driverWith()],
  ['its deadline approves', pay({ expireAfter: '1h', onExpiry: 'approve' }), driverWith()],
  ['it has rules', { ...pay(), rules: [{}] }, driverWith()],
  ['it asks by default', { ...pay(), asksByDefault: true }, driverWith()],
  ['the operator has a rule', pay(), driverWith({ rules: [{ tool: 'other' }] })],
  ['the application adds policies', pay(), driverWith({ policyFor: () => undefined })],
  ['the server has default deciders', pay(), driverWith({ defaultDeciders: () => ({ people: ['ben'] }) }, asker)],
])('every source is asked if %s', (_name, definition, driver) => {
  expect(judgedPlainly(driver, definition)).toBeUndefined();
});

test('the policy that all plain requests share cannot be changed', () => {
  const [policy] = ANYONE;
  expect(() => Object.assign(policy, { notRequester: true })).toThrow(TypeError);
  expect(() => Object.assign(ANYONE, { 1: {} })).toThrow(TypeError);
});
