import { expect, test } from 'vitest';
import { fieldOf, readText, schemaProblems } from './ask-value.ts';

test.each([
  [null, 'json'],
  [{}, 'json'],
  [{ type: 'string' }, 'text'],
  [{ type: 'integer' }, 'number'],
  [{ type: 'boolean' }, 'choice'],
  [{ enum: ['a', 1, null] }, 'choice'],
  [{ anyOf: [{ const: 'a' }, { const: 'b' }] }, 'choice'],
  [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, 'json'],
  [{ type: 'object', properties: { a: { type: 'string' } } }, 'object'],
  [{ type: 'object' }, 'json'],
  [{ type: 'array' }, 'json'],
  [{ type: ['string', 'null'] }, 'json'],
])('%j is asked as %s', (schema, type) => {
  expect(fieldOf(schema).type).toBe(type);
});

test('typed text is parsed as its field says', () => {
  expect(readText('007', { type: 'text' })).toEqual({ value: '007' });
  expect(readText('', { type: 'text' })).toEqual({ value: '' });
  expect(readText('90', { type: 'number' })).toEqual({ value: 90 });
  expect(readText('', { type: 'number' })).toHaveProperty('problem');
  expect(readText('Infinity', { type: 'number' })).toHaveProperty('problem');
  expect(readText('[1]', { type: 'json' })).toEqual({ value: [1] });
  expect(readText('[1', { type: 'json' })).toHaveProperty('problem');
});

test('a problem is named with its path; a schema that cannot be converted is not checked here', () => {
  const schema = { type: 'object', properties: { amount: { type: 'number', maximum: 10 } }, required: ['amount'] };
  expect(schemaProblems({ amount: 5 }, schema)).toEqual([]);
  expect(schemaProblems({ amount: 50 }, schema)[0]).toMatch(/^amount: /);
  expect(schemaProblems({}, schema)[0]).toMatch(/^amount: /);
  expect(schemaProblems('anything', null)).toEqual([]);
  expect(schemaProblems('x', { type: 'no such type' })).toEqual([]);
});
