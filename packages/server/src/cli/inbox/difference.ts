// What an edit changes, value by value.
import { jsonText, nameText } from '../print/value-text.ts';
import type { Row } from './frame.ts';

/** One row for each value that is gone, and one for each that is new. */
export function differenceRows(before: unknown, after: unknown, path: readonly string[] = []): readonly Row[] {
  const [old, fresh] = [partsOf(before), partsOf(after)];
  // A list that became a map is another value, also with the same in it.
  if (old && fresh && Array.isArray(before) === Array.isArray(after))
    return [...new Set([...old.keys(), ...fresh.keys()])].flatMap((name) => {
      const below = [...path, name];
      if (!fresh.has(name)) return [row('-', below, old.get(name))];
      if (!old.has(name)) return [row('+', below, fresh.get(name))];
      return differenceRows(old.get(name), fresh.get(name), below);
    });
  if (jsonText(before) === jsonText(after)) return [];
  return [row('-', path, before), row('+', path, after)];
}

/** What a list or a map holds; undefined for any other value. */
const partsOf = (value: unknown): ReadonlyMap<string, unknown> | undefined =>
  typeof value === 'object' && value !== null ? new Map(Object.entries(value)) : undefined;

function row(sign: '-' | '+', path: readonly string[], value: unknown): Row {
  const name = path.length === 0 ? '' : `${path.map(nameText).join('.')}  `;
  return { text: ` ${sign} ${name}${jsonText(value)}`, format: sign === '-' ? 'red' : 'green' };
}
