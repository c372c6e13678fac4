// The lines of checks: a mark, what was checked, what was found, and what to do.
import { wrap } from '../../text/text-width.ts';
import { visibleLine } from '../../text/visible-text.ts';
import type { Check } from '../doctor/server-checks.ts';
import type { Output } from './output.ts';

const COLOURS = { ok: 'green', fail: 'red', unknown: 'yellow' } as const;

export function checkLines(checks: readonly Check[], { style, rowWidth }: Output): readonly string[] {
  const nameWidth = Math.max(0, ...checks.map(({ name }) => name.length));
  const margin = ' '.repeat(nameWidth + 8);
  const fitted = (text: string) => wrap(text, Math.max(20, rowWidth - margin.length));
  return checks.flatMap(({ name, status, text, fix }) => {
    const mark = style(COLOURS[status], (status === 'unknown' ? '?' : status).padEnd(4));
    const [first = '', ...more] = fitted(visibleLine(text));
    const fixLines = fix === undefined ? [] : fitted(`→ ${fix}`).map((row) => style('dim', row));
    return [`${mark}  ${name.padEnd(nameWidth)}  ${first}`, ...[...more, ...fixLines].map((row) => `${margin}${row}`)];
  });
}
