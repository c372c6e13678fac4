import { expect, test } from 'vitest';
import { type Call, NO_STEPS } from './call.ts';
import { matchDecisions } from './decide.ts';

const open: Call = {
  id: 'call',
  ref: 'agent',
  name: 'agent',
  input: {},
  phase: { at: 'open' },
  pauses: 0,
  steps: NO_STEPS,
};

test('a decision on something inside a call that has not begun does not decide that call', () => {
  const part = { toolRequest: { name: 'pay', ref: 'p', input: {} }, metadata: { path: ['agent'] } };
  const { matched, leaves, faults } = matchDecisions({ content: [], calls: [open] }, { approve: part }, () => false);
  expect({ matched, leaves }).toEqual({ matched: [], leaves: [] });
  expect(faults).toEqual([{ where: 'approve[0]', problem: 'pay (p) does not wait for a decision' }]);
});
