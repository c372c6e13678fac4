// JSON as people read it in a terminal. A string must not pass for another type or for a separate field.
import type { Json, JsonSchema } from 'countersign';
import { type Line, lineOf } from 'countersign/request';
import { type Reads, readsHere } from './format.ts';
import { padded, widthOf, wrap } from './text-width.ts';
import { visibleJson, visibleLine, visibleText } from './visible-text.ts';

/** Formats a value on one line: `amount 950, toAccount "DE02"`. */
export function valueLine(value: unknown): string {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.entries(value)
      .map(([name, inner]) => `${nameText(name)} ${jsonText(inner)}`)
      .join(', ');
  return jsonText(value);
}

/** How a value reads: the schema that has its labels, and who writes money and dates. */
export type Shown = { readonly schema?: JsonSchema | null | undefined; readonly reads?: Reads | undefined };

/** Formats a value on lines of at most `width` columns, with labels in front. */
export function valueLines(
  value: unknown,
  width: number,
  { schema, reads = readsHere }: Shown = {},
): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return innerLines(value, width);
  const fields = lineOf(value as Json, schema)
    .inside()
    .map((line) => [labelText(line), line] as const);
  const longest = Math.max(0, ...fields.map(([name]) => widthOf(name)));
  const column = Math.min(20, Math.floor(width / 3), longest);
  const [room, margin] = [width - column - 2, ' '.repeat(column + 2)];
  return fields.flatMap(([name, line]) => {
    const [first = '', ...rest] = readLines(line, room, reads);
    const below = rest.map((line) => `${margin}${line}`);
    if (widthOf(name) <= column) return [`${padded(name, column)}  ${first}`, ...below];
    return [...wrap(name, width, column + 2), `${margin}${first}`, ...below];
  });
}

/** Puts a bar before each row of a text with several rows, so that none passes for a separate field. */
export function barred(text: string, width: number): readonly string[] {
  const rows = wrap(visibleText(text), width - BAR.length);
  return rows.length === 1 ? rows : rows.map((row) => `${BAR}${row}`.trimEnd());
}

/** Quotes a name unless it is unambiguous. */
export const nameText = (name: string): string => (/^[^\s"',.:]+$/.test(name) ? visibleLine(name) : jsonText(name));

/** A label of a schema is plain words; a name could be anything. */
export const labelText = ({ label, name }: Line): string => (label === name ? nameText(name) : label);

/** The whole value. A text that could pass for another value is quoted. */
export function valueText(value: unknown): string {
  if (typeof value === 'string') return isPlainText(value) ? visibleText(value) : jsonText(value);
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return jsonText(value);
  return visibleJson(JSON.stringify(value, null, 2));
}

/** Formats JSON on one line. */
export const jsonText = (value: unknown): string => visibleJson(JSON.stringify(value) ?? '');

const BAR = '│ ';

function readLines(line: Line, width: number, reads: Reads): readonly string[] {
  const text = reads(line);
  return text === undefined ? innerLines(line.value, width) : wrap(text, width);
}

function innerLines(value: unknown, width: number): readonly string[] {
  if (typeof value !== 'string') return jsonLines(value, width);
  return barred(isPlainText(value) ? value : jsonText(value), width);
}

/** Multi-line strings get bars. Other strings are quoted if they look like JSON or have unusual spaces. */
export const isPlainText = (text: string): boolean =>
  text.includes('\n') || !(/^$|^[\s{["│]|\s$|\s\s|\t/.test(text) || isJson(text));

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // Not JSON.
    return false;
  }
}

/** Shorter JSON stays on one line. */
const SHORT = 60;

function jsonLines(value: unknown, width: number): readonly string[] {
  const short = jsonText(value);
  if (short.length <= SHORT) return wrap(short, width, HANG);
  return wrap(visibleJson(JSON.stringify(value, null, 2)), width, HANG);
}

const HANG = 4;
