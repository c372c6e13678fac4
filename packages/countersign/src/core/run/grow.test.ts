import { expect, test } from 'vitest';
import { GrowList, GrowSet } from './grow.ts';

test('an older version of a list does not change', () => {
  const first = GrowList.of([1, 2]);
  const second = first.append(3);
  const fork = first.append(4, 5);
  expect([first, second, fork].map((list) => [...list.toArray()])).toEqual([
    [1, 2],
    [1, 2, 3],
    [1, 2, 4, 5],
  ]);
  expect(second.withLast(9).toArray()).toEqual([1, 2, 9]);
  expect(second.toArray()).toEqual([1, 2, 3]);
});

test('appending to the newest version does not copy', () => {
  const first = GrowList.of([1]);
  const storage = first.toArray();
  expect(first.append(2).toArray()).toBe(storage);
});

test('a list does not change its source', () => {
  const given = Object.freeze([1]);
  GrowList.of(given).append(2);
  expect(given).toEqual([1]);
});

test('a fork of a set does not know what the other fork added', () => {
  const first = GrowSet.of(['a']);
  const second = first.add(['b']);
  expect(first.has('b')).toBe(false);
  const fork = first.add(['c']);
  expect([second.has('b'), second.has('c'), fork.has('a'), fork.has('b'), fork.has('c')]).toEqual([
    true,
    false,
    true,
    false,
    true,
  ]);
});
