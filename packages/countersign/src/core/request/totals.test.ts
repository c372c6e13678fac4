// What several inputs come to: sums, currencies, recipients and the largest.
import { expect, test } from 'vitest';
import { totalsOf } from './totals.ts';

test('sums are exact, and the largest is known by its place', () => {
  const { count, sums, recipients } = totalsOf([
    { to: 'ACME', amount: 0.1 },
    { to: 'Birch', amount: 0.2 },
    { to: 'ACME', amount: 0.2 },
  ]);
  expect(count).toBe(3);
  expect(sums).toEqual([
    { path: ['amount'], name: 'amount', currency: null, sum: '0.5', count: 3, largest: 0.2, largestAt: 1 },
  ]);
  expect(recipients).toEqual({ path: ['to'], name: 'to', count: 2 });
});

test('each currency has its own sum, beside the amount or named after it', () => {
  const { sums } = totalsOf([
    { amount: 10, currency: 'EUR' },
    { amount: 5, currency: 'usd' },
    { amount: 2.5, currency: 'EUR' },
  ]);
  expect(sums.map(({ currency, sum, count }) => [currency, sum, count])).toEqual([
    ['EUR', '12.5', 2],
    ['USD', '5', 1],
  ]);
  const named = totalsOf([{ fee: 1, fee_currency: 'CHF', quantity: 3 }]).sums;
  expect(named.map(({ name, currency }) => [name, currency])).toEqual([
    ['fee', 'CHF'],
    ['quantity', null],
  ]);
});

test('decimals as text count beside a currency, and nowhere else', () => {
  const { sums } = totalsOf([
    { total: { amount: '19.90', currency: 'EUR', zip: '10115' }, amount: '7' },
    { total: { amount: '0.10', currency: 'EUR', zip: '80331' }, amount: '7' },
  ]);
  expect(sums.map(({ name, sum, largest }) => [name, sum, largest])).toEqual([['total.amount', '20', '19.90']]);
});

test('ids, arrays and texts are not added up; an input without the field is left out', () => {
  const { sums } = totalsOf([
    { id: 1, invoiceId: 2, order_id: 3, paid: 4, lines: [1, 2], note: '5' },
    { id: 6, paid: 1 },
    { note: 'nothing' },
  ]);
  expect(sums.map(({ name, sum, count }) => [name, sum, count])).toEqual([['paid', '5', 2]]);
});

test('recipients count only if every input names one in the same field', () => {
  expect(totalsOf([{ to: 'a' }, { payee: 'b' }]).recipients).toBeNull();
  expect(totalsOf([{ to: 'a' }, {}]).recipients).toBeNull();
  expect(totalsOf([{ payee: { iban: 'DE1' } }, { payee: { iban: 'DE2' } }]).recipients).toMatchObject({ count: 2 });
  expect(totalsOf([{ to: 'a', payee: 'b' }]).recipients).toMatchObject({ name: 'payee' });
  expect(totalsOf([]).recipients).toBeNull();
});
