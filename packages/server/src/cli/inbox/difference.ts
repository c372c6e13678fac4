// What an edit changes, value by value.
import { styleText } from 'node:util';
import type { Json, JsonSchema } from 'countersign';
import { type Line, labelsTo, lineAt, lineOf } from 'countersign/request';
import { readsHere } from '../../text/format.ts';
import { jsonText, nameText } from '../../text/value-text.ts';

/** Returns one line for each removed value and one for each added value. `schema` has the labels of both. */
export function differenceLines(before: unknown, after: unknown, schema?: JsonSchema | null): readonly string[] {
  const lines = { '-': lineOf(before as Json, schema), '+': lineOf(after as Json, schema) };
  return changesIn(before, after, [], (sign, path, value) => lineText(sign, path, value, lines[sign]));
}

type Write = (sign: '-' | '+', path: readonly string[], value: unknown) => string;

function changesIn(before: unknown, after: unknown, path: readonly string[], write: Write): readonly string[] {
  const [oldParts, newParts] = [partsOf(before), partsOf(after)];
  // An array that became an object is a different value, even with the same contents.
  if (oldParts && newParts && Array.isArray(before) === Array.isArray(after))
    return [...new Set([...oldParts.keys(), ...newParts.keys()])].flatMap((name) => {
      const below = [...path, name];
      if (!newParts.has(name)) return [write('-', below, oldParts.get(name))];
      if (!oldParts.has(name)) return [write('+', below, newParts.get(name))];
      return changesIn(oldParts.get(name), newParts.get(name), below, write);
    });
  if (jsonText(before) === jsonText(after)) return [];
  return [write('-', path, before), write('+', path, after)];
}

const partsOf = (value: unknown): ReadonlyMap<string, unknown> | undefined =>
  typeof value === 'object' && value !== null ? new Map(Object.entries(value)) : undefined;

function lineText(sign: '-' | '+', path: readonly string[], value: unknown, whole: Line): string {
  const place = labelsTo(whole, path)?.join(' › ') ?? path.map(nameText).join('.');
  const name = path.length === 0 ? '' : `${place}  `;
  const at = lineAt(whole, path);
  const text = (at && readsHere(at)) ?? jsonText(value);
  return styleText(sign === '-' ? 'red' : 'green', `${sign} ${name}${text}`);
}
