// What an edit changes, value by value.
import { styleText } from 'node:util';
import { jsonText, nameText } from '../../text/value-text.ts';

/** Returns one line for each removed value and one for each added value. */
export function differenceLines(before: unknown, after: unknown, path: readonly string[] = []): readonly string[] {
  const [oldParts, newParts] = [partsOf(before), partsOf(after)];
  // An array that became an object is a different value, even with the same contents.
  if (oldParts && newParts && Array.isArray(before) === Array.isArray(after))
    return [...new Set([...oldParts.keys(), ...newParts.keys()])].flatMap((name) => {
      const below = [...path, name];
      if (!newParts.has(name)) return [line('-', below, oldParts.get(name))];
      if (!oldParts.has(name)) return [line('+', below, newParts.get(name))];
      return differenceLines(oldParts.get(name), newParts.get(name), below);
    });
  if (jsonText(before) === jsonText(after)) return [];
  return [line('-', path, before), line('+', path, after)];
}

const partsOf = (value: unknown): ReadonlyMap<string, unknown> | undefined =>
  typeof value === 'object' && value !== null ? new Map(Object.entries(value)) : undefined;

function line(sign: '-' | '+', path: readonly string[], value: unknown): string {
  const name = path.length === 0 ? '' : `${path.map(nameText).join('.')}  `;
  return styleText(sign === '-' ? 'red' : 'green', `${sign} ${name}${jsonText(value)}`);
}
