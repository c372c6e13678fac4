// The rows of the table in the order of a column.
import { expect, test } from 'vitest';
import type { ToolSection } from './comparison.ts';
import { isNumeric, sortedSection } from './sorted-rows.ts';

const section = {
  key: 'pay',
  items: ['b', 'a10', 'a9'].map((title) => ({ id: title, title, tool: 'pay', input: {}, payload: null })),
  comparison: { common: [], columns: [{ path: ['amount'], name: 'amount' }], rows: [[20], [3], [undefined]] },
} as unknown as ToolSection;
const ids = (sorted: ToolSection) => sorted.items.map(({ id }) => id);

test('numbers are ordered as numbers, and what lacks the field comes last in either direction', () => {
  const ascending = sortedSection(section, { column: 0, isDescending: false });
  expect(ids(ascending)).toEqual(['a10', 'b', 'a9']);
  expect(ascending.comparison.rows).toEqual([[3], [20], [undefined]]);
  expect(ids(sortedSection(section, { column: 0, isDescending: true }))).toEqual(['b', 'a10', 'a9']);
});

test('titles are ordered as people count, and without an order nothing moves', () => {
  expect(ids(sortedSection(section, { column: 'title', isDescending: false }))).toEqual(['a9', 'a10', 'b']);
  expect(sortedSection(section, undefined)).toBe(section);
});

test('a column is numeric if all its values are', () => {
  expect(isNumeric(section, 0)).toBe(true);
  const mixed = { ...section, comparison: { ...section.comparison, rows: [[20], ['3'], [1]] } };
  expect(isNumeric(mixed as ToolSection, 0)).toBe(false);
});
