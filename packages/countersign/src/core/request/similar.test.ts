import { expect, test } from 'vitest';
import { compareInputs, groupSimilar } from './similar.ts';

const HOUR = 3_600_000;
const request = (id: string, input: unknown, createdAt = 0, tool = 'pay') => ({
  id,
  agent: 'teller',
  tool,
  kind: 'approval',
  input,
  createdAt,
});
const idsOf = (groups: ReturnType<typeof groupSimilar<ReturnType<typeof request>>>) =>
  groups.map(({ items }) => items.map(({ id }) => id).join(''));

test('requests of one tool with the same fields and types, near in time, are one group', () => {
  const items = [
    request('a', { to: 'x', amount: 1 }, 10),
    request('b', { name: 'x' }, 11, 'mail'),
    request('c', { amount: 2, to: 'y' }, 12),
    request('d', { to: 'z', amount: '3' }, 13),
    request('e', { to: 'z', amount: 3, note: 'n' }, 14),
    request('f', { to: 'z', amount: 3 }, HOUR + 12),
    request('g', { to: 'z', amount: 3 }, 2 * HOUR + 13),
  ];
  expect(idsOf(groupSimilar(items))).toEqual(['acf', 'b', 'd', 'e', 'g']);
  expect(idsOf(groupSimilar(items, { withinMs: 0 }))).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
  // Newest first stays so between groups; within a group the oldest is first.
  expect(idsOf(groupSimilar(items.toReversed()))).toEqual(['g', 'acf', 'e', 'd', 'b']);
});

test('a group keeps its key while later requests come and go', () => {
  const [a, b] = [request('a', [1], 10), request('b', [], 11)];
  expect(groupSimilar([a])[0]?.key).toBe(groupSimilar([a, b])[0]?.key);
  expect(groupSimilar([a])[0]?.key).not.toBe(groupSimilar([{ ...a, agent: 'other' }])[0]?.key);
});

test('a comparison says what is common once, and has a column for each field that differs', () => {
  const { common, columns, rows } = compareInputs([
    { to: 'x', order: { id: 1, tags: ['a'] }, cost: 0 },
    { to: 'y', order: { id: 1, tags: [] }, cost: 0, note: null },
  ]);
  expect(common).toEqual([
    { path: ['order', 'id'], name: 'order.id', value: 1 },
    { path: ['cost'], name: 'cost', value: 0 },
  ]);
  expect(columns.map(({ name }) => name)).toEqual(['to', 'order.tags', 'note']);
  expect(rows).toEqual([
    ['x', ['a'], undefined],
    ['y', [], null],
  ]);
});

test('values of any kind are compared: texts, empty objects, fields with a dot in the name', () => {
  expect(compareInputs(['a', 'b'])).toMatchObject({ columns: [{ path: [], name: 'input' }], rows: [['a'], ['b']] });
  expect(compareInputs([{}, {}])).toMatchObject({ common: [{ name: 'input', value: {} }], columns: [] });
  const dotted = compareInputs([
    { 'a.b': 1, a: { b: 2 } },
    { 'a.b': 1, a: { b: 3 } },
  ]);
  expect(dotted).toMatchObject({ common: [{ path: ['a.b'] }], columns: [{ path: ['a', 'b'] }], rows: [[2], [3]] });
  expect(compareInputs([])).toEqual({ common: [], columns: [], rows: [] });
});
