import { expect, test } from 'vitest';
import { draftOf } from './draft.ts';
import { fieldOf } from './field.ts';

const object = (properties: object) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});
const self = { $ref: '#/$defs/self' };
const recursive = (anyOf: readonly object[]) => fieldOf({ ...self, $defs: { self: { anyOf } } });
const nested = (depth: number, around: (inner: unknown) => unknown, leaf: unknown) =>
  Array.from({ length: depth }).reduce(around, leaf);

test('a value deep in a union that contains itself is a form, and the constant tells the branch', () => {
  const field = recursive([
    ...['not', 'neg', 'abs', 'ceil'].map((op) => object({ argument: self, op: { const: op } })),
    { type: 'number' },
  ]);
  let draft = draftOf(
    field,
    nested(50, (argument) => ({ argument, op: 'ceil' }), 1),
  );
  for (let depth = 0; depth < 50; depth += 1) {
    if (draft.is !== 'union' || draft.draft.is !== 'object') throw new Error(`No form at ${depth}.`);
    expect(draft.branch).toBe(3);
    draft = draft.draft.properties[0] ?? draft;
  }
  expect(draft).toEqual({ is: 'union', branch: 4, draft: { is: 'text', text: '1' } });
});

test('where there are too many ways to try, the value is text', () => {
  const field = recursive([object({ a: self }), object({ a: self, b: { type: 'string' } }), object({ a: self })]);
  expect(
    draftOf(
      field,
      nested(50, (a) => ({ a }), 1),
    ).is,
  ).toBe('json');
});

test('only what does not fit is text', () => {
  const field = fieldOf({ ...object({ a: { type: 'number' }, b: { type: 'number' } }), additionalProperties: true });
  expect(draftOf(field, { a: 1, b: 'x', c: 2 })).toMatchObject({
    properties: [
      { is: 'text', text: '1' },
      { is: 'json', text: '"x"' },
    ],
    others: [{ name: 'c', draft: { is: 'json', text: '2' } }],
  });
});
