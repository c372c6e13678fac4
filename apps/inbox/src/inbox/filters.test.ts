// What the server is asked for a list, from the filters in the address.
import { expect, test } from 'vitest';
import { addressOf, NO_FILTERS, queryFor } from './filters.ts';

const HOUR = 3_600_000;

test('without filters the oldest that wait come first, and the newest that are decided', () => {
  expect(queryFor('pending', NO_FILTERS, 0)).toEqual({ status: 'pending', order: 'oldest' });
  expect(queryFor('settled', NO_FILTERS, 0)).toEqual({ status: 'settled', order: 'newest' });
});

test('the age filter finds old pending requests and recent decisions', () => {
  const now = 100 * HOUR + 12_345;
  const filters = { ...NO_FILTERS, age: '1d', tool: 'pay' };
  expect(queryFor('pending', filters, now)).toMatchObject({ tool: 'pay', createdBefore: `${76 * HOUR}` });
  expect(queryFor('settled', filters, now)).toMatchObject({ createdAfter: `${76 * HOUR}` });
});

test('the outcome filter applies to decided requests only', () => {
  const filters = { ...NO_FILTERS, outcome: 'edited' };
  expect(queryFor('settled', filters, 0)).toMatchObject({ status: 'settled', outcome: 'edited' });
  expect(queryFor('pending', filters, 0)).toEqual({ status: 'pending', order: 'oldest' });
});

test('the URL holds the chosen filters and nothing else', () => {
  expect(addressOf(NO_FILTERS)).toBe('');
  expect(addressOf({ ...NO_FILTERS, search: 'a&b', risk: 'high' })).toBe('?search=a%26b&risk=high');
});
