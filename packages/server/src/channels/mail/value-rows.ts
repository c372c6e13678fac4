// A JSON value as the rows of a table: the whole value, with nested values below their names.
import type { Json, JsonSchema } from 'countersign';
import { type Line, lineOf } from 'countersign/request';
import type { Reads } from '../../text/format.ts';
import { labelText, valueText } from '../../text/value-text.ts';
import { visibleLine } from '../../text/visible-text.ts';

/** One row. A row without a text is the heading of the rows below it that are deeper. */
export type Row = { readonly depth: number; readonly name?: string; readonly text?: string };

/** Deeper values are shown as JSON. */
const DEEPEST = 5;

/** What labels the fields of a value, and writes its money and dates. */
export type Labelled = { readonly schema?: JsonSchema | null | undefined; readonly reads?: Reads };

/** Shows characters that hide or reorder text as codes. Undefined if the rows have more than `most` characters. */
export function rowsOf(value: Json, most: number, { schema, reads }: Labelled = {}): readonly Row[] | undefined {
  const rows: Row[] = [];
  let left = most;
  const add = (row: Row): boolean => {
    left -= (row.name?.length ?? 0) + (row.text?.length ?? 0) + ROW_COSTS;
    rows.push(row);
    return left >= 0;
  };
  const addLine = (line: Line, depth: number, name?: string): boolean => {
    const named = { depth, ...(name !== undefined && { name }) };
    const entries = depth < DEEPEST ? line.inside() : [];
    if (entries.length === 0) return add({ ...named, text: reads?.(line) ?? valueText(line.value) });
    const below = name === undefined ? depth : depth + 1;
    return (name === undefined || add(named)) && entries.every((entry) => addLine(entry, below, nameOf(line, entry)));
  };
  return addLine(lineOf(value, schema), 0) ? rows : undefined;
}

/** The markup of a row, roughly. */
const ROW_COSTS = 100;

/** The entries of a list have a name that no property has: `nameText` quotes names with a dot. */
const nameOf = ({ value }: Line, entry: Line): string => (Array.isArray(value) ? entry.label : labelText(entry));

/** Rows of facts that the mail itself states. */
export const factRow = (name: string, text: string): Row => ({ depth: 0, name, text });

/** A name or a sentence of others, on one line. */
export const oneLine = visibleLine;
