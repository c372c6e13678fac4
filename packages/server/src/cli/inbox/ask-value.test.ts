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

test.each([
  [{ type: 'string' }, '007', { value: '007' }],
  [{ type: 'string' }, '', { value: '' }],
  [{ type: 'number' }, '90', { value: 90 }],
  [{ type: 'number' }, '0', { value: 0 }],
  [{ type: 'number' }, '', { problem: 'Required.' }],
  [{ type: 'number' }, '1,5', { problem: 'Enter a number, such as 1250.5.' }],
  [{ type: 'number' }, 'Infinity', { problem: 'Enter a number, such as 1250.5.' }],
  [{ type: 'integer', maximum: 5 }, '6', { problem: 'Must be at most 5.' }],
  [{ type: 'string', format: 'date' }, '2026-02-30', { problem: 'Enter a date, such as 2026-11-18.' }],
  [{ type: 'array' }, '[1]', { value: [1] }],
  [{ type: 'array' }, '[1', { problem: expect.stringMatching(/^Not valid JSON/) }],
  [null, '{"a":0}', { value: { a: 0 } }],
])('for %j, %j is read as %j', (schema, text, read) => {
  expect(readText(text, fieldOf(schema), schema)).toEqual(read);
});

test('a problem is named with its path; a schema that cannot be converted is not checked here', () => {
  const schema = { type: 'object', properties: { amount: { type: 'number', maximum: 10 } }, required: ['amount'] };
  expect(schemaProblems({ amount: 5 }, schema)).toEqual([]);
  expect(schemaProblems({ amount: 50 }, schema)[0]).toMatch(/^amount: /);
  expect(schemaProblems({}, schema)[0]).toMatch(/^amount: /);
  expect(schemaProblems('anything', null)).toEqual([]);
  expect(schemaProblems('x', { type: 'no such type' })).toEqual([]);
});
