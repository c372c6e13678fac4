// The input of a call: what a model may send.
import { expect, test } from 'vitest';
import { readInput } from './call-input.ts';

test.each([
  ['', {}],
  ['  ', {}],
  ['{"a":1}', { a: 1 }],
  ['[1]', [1]],
  ['null', null],
  ['0', 0],
  ['"text"', 'text'],
])('%j is read', (sent, input) => {
  expect(readInput(sent)).toEqual({ input });
});

test.each([
  ['{"a":', /not JSON/],
  ['{"__proto__":{"admin":true}}', /__proto__/],
  ['{"deep":[{"\\u005f_proto__":1}]}', /__proto__/],
  ['{"much":1e999}', /not a JSON number/],
  [`${'['.repeat(600)}${']'.repeat(600)}`, /nested deeper/],
])('%.40j stays the text that it was', (sent, reason) => {
  expect(readInput(sent)).toEqual({ input: sent, invalid: expect.stringMatching(reason) });
});

test('a provider that does not keep to the specification', () => {
  expect(readInput({ a: 1 })).toEqual({ input: { a: 1 } });
  expect(readInput(undefined)).toEqual({ input: {} });
  const circle: { self?: unknown } = {};
  circle.self = circle;
  expect(readInput(circle)).toMatchObject({ invalid: expect.stringContaining('refers to itself') });
});
