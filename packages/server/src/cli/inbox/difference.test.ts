import { expect, test } from 'vitest';
import { differenceRows } from './difference.ts';

const texts = (before: unknown, after: unknown) => differenceRows(before, after).map(({ text }) => text);

test('only what changed is shown, by the path to it', () => {
  const before = { a: 1, b: { c: 'x', d: [1, 2] }, e: null };
  expect(texts(before, { a: 1, b: { c: 'y', d: [1] }, e: 0 })).toEqual([
    ' - b.c  "x"',
    ' + b.c  "y"',
    ' - b.d.1  2',
    ' - e  null',
    ' + e  0',
  ]);
  expect(texts(before, structuredClone(before))).toEqual([]);
});

test('empty values, other types and whole values count', () => {
  expect(texts({ a: [] }, { a: {} })).toEqual([' - a  []', ' + a  {}']);
  expect(texts('1', 1)).toEqual([' - "1"', ' + 1']);
  expect(texts({}, { a: '' })).toEqual([' + a  ""']);
  expect(texts({ a: 1 }, { a: 1, b: { c: [2] } })).toEqual([' + b  {"c":[2]}']);
});

test('a list is no map, and a name with a dot is no path', () => {
  expect(texts({ a: ['x'] }, { a: { 0: 'x' } })).toEqual([' - a  ["x"]', ' + a  {"0":"x"}']);
  expect(texts({ 'a.b': 1, a: { b: 2 } }, { 'a.b': 3, a: { b: 2 } })).toEqual([' - "a.b"  1', ' + "a.b"  3']);
  expect(texts({}, JSON.parse('{"__proto__":1}'))).toEqual([' + __proto__  1']);
});

test('hostile text in names and values is shown as codes', () => {
  expect(texts({ 'a\u202e': '\u200b' }, {})).toEqual([' - a<U+202E>  "\\u200b"']);
});
