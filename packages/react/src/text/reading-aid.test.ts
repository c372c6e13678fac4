import { expect, test } from 'vitest';
import { isCode, readingAid } from './reading-aid.ts';

const aid = (name: string, value: unknown, beside: Record<string, unknown> = {}) =>
  readingAid(name, value, { [name]: value, ...beside }, 'en-GB');

test('an amount beside one currency reads as money, with all its digits', () => {
  expect(aid('amount', 950, { currency: 'EUR' })).toBe('€950.00');
  expect(aid('totalAmount', 1_234_567.125, { currency: 'USD' })).toBe('US$1,234,567.125');
  expect(aid('amount', 950, { currency: 'euros' })).toBeUndefined();
  expect(aid('amount', 950, { currency: 'EUR', targetCurrency: 'USD' })).toBeUndefined();
  expect(aid('amount', 950)).toBeUndefined();
  expect(aid('count', 950, { currency: 'EUR' })).toBeUndefined();
});

test('dates and moments read in words, impossible ones stay as they are', () => {
  expect(aid('due', '2026-11-20')).toMatch(/^Friday,? 20 November 2026$/);
  expect(aid('due', '2026-02-30')).toBeUndefined();
  expect(aid('at', '2026-11-20T10:00:00Z')).toMatch(/^Friday,? 20 November 2026.*, your time$/);
  expect(aid('note', 'on 2026-11-20')).toBeUndefined();
});

test('code is told by its name, or by indented lines with brackets', () => {
  expect(isCode('sql', 'select 1')).toBe(true);
  expect(isCode('text', 'if (a) {\n  b();\n}')).toBe(true);
  expect(isCode('text', 'Dear Bob,\n\nsee you.')).toBe(false);
});
