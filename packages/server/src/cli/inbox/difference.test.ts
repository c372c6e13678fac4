import { expect, test } from 'vitest';
import { differenceLines as texts } from './difference.ts';

test('only changed values are listed, with their path', () => {
  const before = { a: 1, b: { c: 'x', d: [1, 2] }, e: null };
  expect(texts(before, { a: 1, b: { c: 'y', d: [1] }, e: 0 })).toEqual([
    '- b.c  "x"',
    '+ b.c  "y"',
    '- b.d.1  2',
    '- e  null',
    '+ e  0',
  ]);
  expect(texts(before, structuredClone(before))).toEqual([]);
});

test('empty values, changed types and whole values are listed', () => {
  expect(texts({ a: [] }, { a: {} })).toEqual(['- a  []', '+ a  {}']);
  expect(texts('1', 1)).toEqual(['- "1"', '+ 1']);
  expect(texts({}, { a: '' })).toEqual(['+ a  ""']);
  expect(texts({ a: 1 }, { a: 1, b: { c: [2] } })).toEqual(['+ b  {"c":[2]}']);
});

test('an array differs from an object, and a name with a dot from a path', () => {
  expect(texts({ a: ['x'] }, { a: { 0: 'x' } })).toEqual(['- a  ["x"]', '+ a  {"0":"x"}']);
  expect(texts({ 'a.b': 1, a: { b: 2 } }, { 'a.b': 3, a: { b: 2 } })).toEqual(['- "a.b"  1', '+ "a.b"  3']);
  expect(texts({}, JSON.parse('{"__proto__":1}'))).toEqual(['+ __proto__  1']);
});

test('hidden characters in names and values are shown as codes', () => {
  expect(texts({ 'a\u202e': '\u200b' }, {})).toEqual(['- a<U+202E>  "\\u200b"']);
});

test('fields are named by their labels, and money is told with its currency', () => {
  const money = { title: 'Amount', 'x-countersign': { money: { currencyField: 'currency' } } };
  const schema = { properties: { amount: money, items: { title: 'Items', items: {} } } };
  const before = { amount: 950, currency: 'EUR', items: ['a'] };
  expect(texts(before, { amount: 900, currency: 'USD', items: ['b'] }, schema)).toEqual([
    '- Amount  €950.00',
    '+ Amount  $900.00',
    '- currency  "EUR"',
    '+ currency  "USD"',
    '- Items › 1.  "a"',
    '+ Items › 1.  "b"',
  ]);
});
