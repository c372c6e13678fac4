// What is due on a pending request, and when something is due next.
import { expect, test } from 'vitest';
import { dueOn, nextDueAt } from './due.ts';

const boss = { people: ['boss'] };
const escalate = [
  { at: 10, to: boss },
  { at: 20, to: 'manager' as const },
];

test.each([
  ['nothing yet', { escalate, expiresAt: 30 }, 0, 9, undefined, 10],
  ['the first escalation', { escalate, expiresAt: 30 }, 0, 10, { do: 'escalate', to: boss }, 10],
  ['the first of two, one after the other', { escalate }, 0, 25, { do: 'escalate', to: boss }, 10],
  ['the second', { escalate }, 1, 25, { do: 'escalate', to: 'manager' }, 20],
  ['all recorded', { escalate, expiresAt: 30 }, 2, 25, undefined, 30],
  ['the deadline comes before an escalation that is due', { escalate, expiresAt: 15 }, 0, 15, { do: 'expire' }, 10],
  ['a question that waits for ever', {}, 0, 99, undefined, undefined],
] as const)('%s', (_, wait, escalations, now, due, next) => {
  expect(dueOn({ wait, escalations }, now)).toEqual(due);
  expect(nextDueAt({ wait, escalations })).toBe(next);
});
