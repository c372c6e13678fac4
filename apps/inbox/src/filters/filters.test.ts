// What the server is asked for a list, from the filters in the address.
import { expect, test } from 'vitest';
import { addressOf, NO_FILTERS, queryFor } from './filters.ts';

const HOUR = 3_600_000;

test('without filters the oldest that wait come first, and the newest that are decided', () => {
  expect(queryFor('pending', NO_FILTERS, 0)).toEqual({ status: 'pending', order: 'oldest', for: 'me' });
  expect(queryFor('settled', NO_FILTERS, 0)).toEqual({ status: 'settled', order: 'newest' });
});

test('what waits for others is another list, and what is mine is found in each', () => {
  const others = { ...NO_FILTERS, view: 'others', mine: 'asked' };
  expect(queryFor('pending', others, 0)).toMatchObject({ for: 'others', mine: '1' });
  expect(queryFor('pending', { ...NO_FILTERS, mine: 'assigned' }, 0)).toMatchObject({ for: 'me', assignee: 'me' });
  expect(queryFor('settled', others, 0)).toEqual({ status: 'settled', order: 'newest', mine: '1' });
});

test('two dates limit decided requests by their decision, both days included', () => {
  const filters = { ...NO_FILTERS, age: 'dates', from: '2026-01-30', until: '2026-01-31' };
  expect(queryFor('settled', filters, 0)).toMatchObject({
    settledSince: `${new Date(2026, 0, 30).getTime()}`,
    settledBefore: `${new Date(2026, 1, 1).getTime()}`,
  });
  expect(queryFor('settled', { ...filters, from: '', until: '20' }, 0)).toEqual({ status: 'settled', order: 'newest' });
});

test('the age filter finds old pending requests and recent decisions', () => {
  const now = 100 * HOUR + 12_345;
  const filters = { ...NO_FILTERS, age: '1d', tool: 'pay' };
  expect(queryFor('pending', filters, now)).toMatchObject({ tool: 'pay', createdBefore: `${76 * HOUR}` });
  expect(queryFor('settled', filters, now)).toMatchObject({ settledSince: `${76 * HOUR}` });
});

test('the filters for outcomes and deciders apply to decided requests only', () => {
  const filters = { ...NO_FILTERS, outcome: 'edited', decidedBy: 'ben' };
  expect(queryFor('settled', filters, 0)).toMatchObject({ status: 'settled', outcome: 'edited', decidedBy: 'ben' });
  expect(queryFor('pending', filters, 0)).toEqual({ status: 'pending', order: 'oldest', for: 'me' });
});

test('the URL holds the chosen filters and nothing else', () => {
  expect(addressOf(NO_FILTERS)).toBe('');
  expect(addressOf({ ...NO_FILTERS, search: 'a&b', risk: 'high' })).toBe('?search=a%26b&risk=high');
});
