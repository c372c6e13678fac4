import { expect, test } from 'vitest';
import { differencesOf, pathText } from './difference.ts';

test('values that are the same differ in nothing', () => {
  expect(differencesOf({ a: [1, { b: null }] }, { a: [1, { b: null }] })).toEqual([]);
});

test('falsy values are values', () => {
  expect(differencesOf({ a: 0, b: '', c: null }, { a: false, c: '', d: null })).toEqual([
    { path: ['a'], is: 'changed', before: 0, after: false },
    { path: ['b'], is: 'removed', before: '' },
    { path: ['c'], is: 'changed', before: null, after: '' },
    { path: ['d'], is: 'added', after: null },
  ]);
});

test('an entry more in a list is one difference', () => {
  expect(differencesOf(['a', 'b', 'c'], ['a', 'x', 'b', 'c'])).toEqual([{ path: [1], is: 'added', after: 'x' }]);
  expect(differencesOf(['a', 'a'], ['a'])).toEqual([{ path: [1], is: 'removed', before: 'a' }]);
});

test('an object that became a list changed as a whole', () => {
  expect(differencesOf({ a: {} }, { a: [] })).toEqual([{ path: ['a'], is: 'changed', before: {}, after: [] }]);
});

test('a name that could be taken for a path stands in quotes', () => {
  expect(pathText(['items', 2, 'a.b', 'name'])).toBe('items[2]["a.b"].name');
});

test('lists inside lists are compared in time', () => {
  const nested = (leaf: number) => Array.from({ length: 200 }).reduce<unknown>((inner) => [inner], leaf);
  expect(differencesOf(nested(1), nested(2))).toEqual([
    { path: Array.from({ length: 200 }, () => 0), is: 'changed', before: 1, after: 2 },
  ]);
});
