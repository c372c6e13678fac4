// What a row of the list tells.
import { expect, test } from 'vitest';
import { summaryOf } from './summary.ts';

test.for([
  ['what the asker says, then the input', { payload: { message: 'Pay?' }, input: { to: 'ann' } }, 'Pay? · to: ann'],
  ['the question', { payload: 'Please.', input: { question: 'Which?', choices: ['a'] } }, 'Please. · Which?'],
  ['the input in short', { payload: true, input: { to: ['a', 'b'], n: 0, no: null } }, 'to: a, b · n: 0'],
  ['only what the asker says below a title', { title: 'Pay 5', payload: 'Now?', input: { to: 'ann' } }, 'Now?'],
  ['nothing below a decided title', { title: 'Pay 5', status: 'decided', payload: 'Now?', input: {} }, ''],
  ['nothing', { payload: null, input: {} }, ''],
] as const)('a row tells %s', ([, card, text]) => {
  expect(summaryOf({ tool: 'pay', kind: 'approval', ...card })).toBe(text);
});
