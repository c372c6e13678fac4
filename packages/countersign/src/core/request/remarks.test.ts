// What stands out in a call beside the approved calls of its tool.
import { expect, test } from 'vitest';
import { type ApprovedCall, remarksOn } from './remarks.ts';

const DAY = 86_400_000;
const NOW = 100 * DAY;
const calls = (inputs: readonly unknown[], daysAgo = 1): readonly ApprovedCall[] =>
  inputs.map((input, index) => ({
    requestId: `r${index}`,
    input: input as never,
    by: 'ben',
    at: NOW - daysAgo * DAY,
  }));
const payments = (to: string, ...amounts: readonly number[]) => amounts.map((amount) => ({ to, amount }));
const usual = calls([...payments('ACME', 100, 200, 300, 150, 120), ...payments('Birch', 5_000)]);

test('a recipient who got nothing so far is new, if there is a past to tell', () => {
  expect(remarksOn({ to: 'Cedar', amount: 50 }, usual, NOW)).toEqual([
    { type: 'new-recipient', field: 'to', value: 'Cedar', among: 6 },
  ]);
  expect(remarksOn({ to: 'ACME', amount: 50 }, usual, NOW)).toEqual([]);
  expect(remarksOn({ to: 'Cedar', amount: 50 }, usual.slice(0, 4), NOW)).toEqual([]);
});

test('an amount is larger than usual beside those to the same recipient, else beside all', () => {
  expect(remarksOn({ to: 'ACME', amount: 301 }, usual, NOW)).toEqual([
    {
      type: 'larger-than-usual',
      field: 'amount',
      amount: 301,
      currency: null,
      most: 300,
      among: 5,
      recipient: 'ACME',
    },
  ]);
  expect(remarksOn({ to: 'Birch', amount: 5_001 }, usual, NOW)).toMatchObject([{ most: 5_000, among: 6 }]);
  expect(remarksOn({ to: 'Birch', amount: 5_000 }, usual.slice(1), NOW)).toMatchObject([{ type: 'same-as-before' }]);
});

test('amounts in other currencies say nothing about this one', () => {
  const past = calls(Array.from({ length: 6 }, () => ({ total: { amount: '10.00', currency: 'EUR' } })));
  expect(remarksOn({ total: { amount: '99.00', currency: 'USD' } }, past, NOW)).toEqual([]);
  expect(remarksOn({ total: { amount: '10.01', currency: 'EUR' } }, past, NOW)).toMatchObject([
    { field: 'total.amount', amount: 10.01, most: 10, currency: 'EUR' },
  ]);
});

test('the same input within a week is told, with the request; an older one is not', () => {
  const input = { to: 'ACME', amount: 100 };
  expect(remarksOn(input, usual, NOW)).toEqual([{ type: 'same-as-before', requestId: 'r0', by: 'ben', at: NOW - DAY }]);
  expect(remarksOn(input, calls([input], 8), NOW)).toEqual([]);
});

test('without a past, or without amounts and recipients, nothing stands out', () => {
  expect(remarksOn({ to: 'ACME', amount: 1 }, [], NOW)).toEqual([]);
  expect(remarksOn('text', calls(['other', 'other', 'other', 'other', 'other', 'other']), NOW)).toEqual([]);
  expect(remarksOn(null, usual, NOW)).toEqual([]);
});
