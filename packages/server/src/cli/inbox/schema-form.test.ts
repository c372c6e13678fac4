import { expect, test } from 'vitest';
import { fieldKind, misfits, readTyped } from './schema-form.ts';

test.each([
  [null, 'json'],
  [{}, 'json'],
  [{ type: 'string' }, 'text'],
  [{ type: 'integer' }, 'number'],
  [{ type: 'boolean' }, 'choice'],
  [{ enum: ['a', 1, null] }, 'choice'],
  [{ anyOf: [{ const: 'a' }, { const: 'b' }] }, 'choice'],
  [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, 'json'],
  [{ type: 'object', properties: { a: { type: 'string' } } }, 'fields'],
  [{ type: 'object' }, 'json'],
  [{ type: 'array' }, 'json'],
  [{ type: ['string', 'null'] }, 'json'],
])('%j is asked for as %s', (schema, type) => {
  expect(fieldKind(schema).type).toBe(type);
});

test('what is typed is read as its field says', () => {
  expect(readTyped('007', { type: 'text' })).toEqual({ value: '007' });
  expect(readTyped('', { type: 'text' })).toEqual({ value: '' });
  expect(readTyped('90', { type: 'number' })).toEqual({ value: 90 });
  expect(readTyped('', { type: 'number' })).toHaveProperty('problem');
  expect(readTyped('Infinity', { type: 'number' })).toHaveProperty('problem');
  expect(readTyped('[1]', { type: 'json' })).toEqual({ value: [1] });
  expect(readTyped('[1', { type: 'json' })).toHaveProperty('problem');
});

test('a misfit is named with its path; what cannot be checked here is left to the one who records', () => {
  const schema = { type: 'object', properties: { amount: { type: 'number', maximum: 10 } }, required: ['amount'] };
  expect(misfits({ amount: 5 }, schema)).toEqual([]);
  expect(misfits({ amount: 50 }, schema)[0]).toMatch(/^amount: /);
  expect(misfits({}, schema)[0]).toMatch(/^amount: /);
  expect(misfits('anything', null)).toEqual([]);
  expect(misfits('x', { type: 'no such type' })).toEqual([]);
});
