import { expect, test } from 'vitest';
import { type Decision, unsendable } from './decision.ts';

const LOST = expect.stringContaining('is undefined');
const ONLY = expect.stringContaining('can only be approved or rejected');

test.each<readonly [Decision, unknown, unknown]>([
  [{ type: 'approve' }, undefined, undefined],
  [{ type: 'approve', edit: null }, undefined, ONLY],
  [{ type: 'approve', edit: undefined }, LOST, LOST],
  [{ type: 'restart' }, undefined, ONLY],
  [{ type: 'restart', resumed: undefined }, undefined, ONLY],
  [{ type: 'restart', replaceInput: undefined }, LOST, LOST],
  [{ type: 'respond', output: 0 }, undefined, ONLY],
  [{ type: 'respond', output: undefined }, LOST, LOST],
  [{ type: 'reject', reason: 'No.' }, undefined, undefined],
  [{ type: 'cancel' }, undefined, undefined],
])('%o is sent unchanged or not at all', (decision, problem, plainProblem) => {
  expect(unsendable(decision, 'decisions')).toEqual(problem);
  expect(unsendable(decision, 'plain')).toEqual(plainProblem);
});
