import { expect, test } from 'vitest';
import { fieldNames, unknownField } from './condition.ts';

const order = { type: 'object', properties: { total: { type: 'number' } } };
const schema = { type: 'object', properties: { amount: { type: 'number' }, order, tags: { type: 'array' } } };

test.each<readonly [string, unknown, string | readonly string[], boolean]>([
  ['a field', schema, 'amount', false],
  ['a field that is not there', schema, 'amuont', true],
  ['a path', schema, ['order', 'total'], false],
  ['a path that is not there', schema, ['order', 'totl'], true],
  ['an entry of an array', schema, ['tags', '0'], false],
  ['an inherited property', schema, 'toString', true],
  ['any field of an open object', { ...schema, additionalProperties: {} }, 'amuont', false],
  ['any field of variants', { anyOf: [schema] }, 'amuont', false],
  ['any field beside patterns', { ...schema, patternProperties: { '^a': {} } }, 'amuont', false],
  ['any field of anything', {}, 'amuont', false],
  ['any field of true', true, 'amuont', false],
])('%s', (_what, given, field, isUnknown) => {
  expect(unknownField(given, ['amount', field])).toEqual(isUnknown ? field : undefined);
});

test('an error can list the fields', () => {
  expect(fieldNames(schema)).toEqual(['amount', 'order', 'tags']);
  expect(fieldNames(true)).toEqual([]);
});
