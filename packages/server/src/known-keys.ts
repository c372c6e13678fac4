// Options are known by their names: one that is misspelt is refused, since nobody would read it.
import { UsageError } from 'countersign';
import { nearest } from './suggestion.ts';

/** Throws if there is a key that is not among the `known`, whatever its value. `what` begins the message. */
export function refuseUnknownKeys(what: string, given: object, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null)
    throw new UsageError('invalid-options', {}, `${what} takes an object of options, not ${JSON.stringify(given)}.`);
  const unknown = Object.keys(given).filter((key) => !known.includes(key));
  if (unknown.length === 0) return;
  const near = unknown.map((key) => nearest(key, known)).filter((key) => key !== undefined);
  const takes = near.length > 0 ? `The nearest it takes: ${near.join(', ')}` : `It takes: ${known.join(', ')}`;
  throw new UsageError('invalid-options', { unknown }, `${what} takes no ${unknown.join(', ')}. ${takes}.`);
}

/** The names of everything that a type has; the compiler says if one is missing. */
export function keysOf<T>(keys: Readonly<Record<keyof T, true>>): readonly string[] {
  return Object.keys(keys);
}
