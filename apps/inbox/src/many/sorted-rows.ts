// Rows of the table in the order of a column.
import { titleOf } from '@countersign/react';
import type { Json, ToolSection } from './comparison.ts';

/** `column`: its place, or the title of the request. */
export type Order = { readonly column: number | 'title'; readonly isDescending: boolean };

/** Without an order, they stand as they were selected. A request that lacks the field comes last. */
export function sortedSection(section: ToolSection, order: Order | undefined): ToolSection {
  if (!order) return section;
  const { items, comparison } = section;
  const { column, isDescending } = order;
  const keyed = items.map((request, index) => ({
    request,
    row: comparison.rows[index] ?? [],
    key: column === 'title' ? titleOf(request) : comparison.rows[index]?.[column],
  }));
  const sorted = keyed.toSorted((a, b) => {
    if (a.key === undefined || b.key === undefined) return Number(a.key === undefined) - Number(b.key === undefined);
    return (isDescending ? -1 : 1) * compared(a.key, b.key);
  });
  return {
    ...section,
    items: sorted.map(({ request }) => request),
    comparison: { ...comparison, rows: sorted.map(({ row }) => row) },
  };
}

/** A column of numbers is aligned to the right. */
export const isNumeric = ({ comparison }: ToolSection, column: number): boolean =>
  comparison.rows.every((row) => row[column] === undefined || typeof row[column] === 'number');

function compared(one: Json, other: Json): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return textOf(one).localeCompare(textOf(other), 'en', { numeric: true });
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));
