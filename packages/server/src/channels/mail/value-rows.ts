// A JSON value as the rows of a table: the whole value, with nested values below their names.
import type { Json } from 'countersign';
import { nameText, valueText } from '../../text/value-text.ts';
import { visibleLine } from '../../text/visible-text.ts';

/** One row. A row without a text is the heading of the rows below it that are deeper. */
export type Row = { readonly depth: number; readonly name?: string; readonly text?: string };

/** Deeper values are shown as JSON. */
const DEEPEST = 5;

/** Shows characters that hide or reorder text as codes. Undefined if the rows have more than `most` characters. */
export function rowsOf(value: Json, most: number): readonly Row[] | undefined {
  const rows: Row[] = [];
  let left = most;
  const add = (row: Row): boolean => {
    left -= (row.name?.length ?? 0) + (row.text?.length ?? 0) + ROW_COSTS;
    rows.push(row);
    return left >= 0;
  };
  const addValue = (inner: Json, depth: number, name?: string): boolean => {
    const named = { depth, ...(name !== undefined && { name }) };
    const entries = depth < DEEPEST ? entriesOf(inner) : [];
    if (entries.length === 0) return add({ ...named, text: valueText(inner) });
    const below = name === undefined ? depth : depth + 1;
    return (name === undefined || add(named)) && entries.every(([inside, entry]) => addValue(entry, below, inside));
  };
  return addValue(value, 0) ? rows : undefined;
}

/** The markup of a row, roughly. */
const ROW_COSTS = 100;

/** The entries of a list have a name that no property has: `nameText` quotes names with a dot. */
function entriesOf(value: Json): readonly (readonly [name: string, value: Json])[] {
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.map((item, index) => [`${index + 1}.`, item]);
  return Object.entries(value).map(([name, inner]) => [nameText(name), inner as Json]);
}

/** Rows of facts that the mail itself states. */
export const factRow = (name: string, text: string): Row => ({ depth: 0, name, text });

/** A name or a sentence of others, on one line. */
export const oneLine = visibleLine;
