import { expect, test } from 'vitest';
import { decidersOf } from './deciders.ts';

const ann = { deciders: { people: ['ann'] } };
const board = { quorum: [{ of: { roles: ['board'], people: ['cara'] }, count: 2 }] };

test.each([
  ['no policy', [], [], null, null],
  ['a policy that names nobody', [{ notRequester: true }], [{ people: ['eve'] }], 'finn', null],
  ['deciders', [ann], [], null, { people: ['ann'], roles: [] }],
  ['groups', [board], [], null, { people: ['cara'], roles: ['board'] }],
  ['several policies', [board, {}, ann, ann], [], null, { people: ['ann', 'cara'], roles: ['board'] }],
  ['an escalation', [ann], [{ roles: ['lead'] }, {}], null, { people: ['ann'], roles: ['lead'] }],
  ['an assignment', [ann], [], 'finn', { people: ['ann', 'finn'], roles: [] }],
] as const)('the deciders of %s', (_, policies, escalatedTo, assignedTo, expected) => {
  expect(decidersOf(policies, escalatedTo, assignedTo)).toEqual(expected);
});
