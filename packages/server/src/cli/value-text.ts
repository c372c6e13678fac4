// JSON as people read it in a terminal.
import { padded, widthOf } from './text-width.ts';
import { visibleLine, visibleText } from './visible-text.ts';

/** On one line: `amount 950, toAccount "DE02"`. */
export function valueLine(value: unknown): string {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return visibleLine(
      Object.entries(value)
        .map(([key, inner]) => `${key} ${typeof inner === 'string' ? inner : JSON.stringify(inner)}`)
        .join(', '),
    );
  return visibleLine(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
}

/** On several lines, with names in front. */
export function valueLines(value: unknown): readonly string[] {
  if (typeof value === 'string') return visibleText(value).split('\n');
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return jsonLines(value);
  const names = Object.keys(value).map(visibleLine);
  const width = Math.min(20, Math.max(0, ...names.map(widthOf)));
  return Object.values(value).flatMap((inner, index) => {
    const [first = '', ...rest] = typeof inner === 'string' ? visibleText(inner).split('\n') : jsonLines(inner);
    const margin = ' '.repeat(width + 2);
    return [`${padded(names[index] ?? '', width)}  ${first}`, ...rest.map((line) => `${margin}${line}`)];
  });
}

/** What is short stays on one line. */
const SHORT = 60;

function jsonLines(value: unknown): readonly string[] {
  const short = JSON.stringify(value) ?? '';
  return visibleText(short.length <= SHORT ? short : JSON.stringify(value, null, 2)).split('\n');
}
