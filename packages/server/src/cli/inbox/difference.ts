// What an edit changes, value by value.

import { visibleLine } from '../visible-text.ts';
import type { Row } from './frame.ts';

/** One row for each value that is gone, and one for each that is new. */
export function differenceRows(before: unknown, after: unknown): readonly Row[] {
  const [old, fresh] = [leaves(before), leaves(after)];
  const paths = [...new Set([...old.keys(), ...fresh.keys()])];
  return paths.flatMap((path): readonly Row[] => {
    const [was, is] = [old.get(path), fresh.get(path)];
    if (was === is) return [];
    const name = path === '' ? '' : `${visibleLine(path)}  `;
    return [
      ...(was === undefined ? [] : [{ text: ` - ${name}${visibleLine(was)}`, format: 'red' as const }]),
      ...(is === undefined ? [] : [{ text: ` + ${name}${visibleLine(is)}`, format: 'green' as const }]),
    ];
  });
}

/** Every value that holds no others, by the path that leads to it. */
function leaves(value: unknown, path = '', found = new Map<string, string>()): Map<string, string> {
  const inner = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (inner.length === 0) found.set(path, JSON.stringify(value) ?? 'nothing');
  for (const [key, below] of inner) leaves(below, path === '' ? key : `${path}.${key}`, found);
  return found;
}
