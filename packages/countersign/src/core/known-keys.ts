// Options are known by their names: one that is misspelt is refused, since nobody would read it.
import { UsageError } from './errors.ts';
import { isObject } from './json.ts';

/**
 * Throws if there is a key that is not among the `known`, whatever its value: what was meant by it, such as a gate, would
 * be dropped in silence. `what` begins the message.
 */
export function refuseUnknownKeys(what: string, given: object, known: readonly string[]): void {
  if (!isObject(given)) {
    const found = given === null || given === undefined ? String(given) : typeof given;
    throw new UsageError('invalid-options', { given: found }, `${what} takes an object of options, not ${found}.`);
  }
  const unknown = Object.keys(given).filter((key) => !known.includes(key));
  if (unknown.length === 0) return;
  const near = [...new Set(unknown.flatMap((key) => nearest(key, known)))];
  const message = `${what} takes no ${unknown.join(', ')}. ${near.length > 0 ? 'The nearest it takes' : 'It takes'}: ${(near.length > 0 ? near : known).join(', ')}.`;
  throw new UsageError('invalid-options', { unknown }, message);
}

/** The names of everything that a type has; the compiler says if one is missing. */
export function keysOf<T>(keys: Readonly<Record<keyof T, true>>): readonly string[] {
  return Object.keys(keys);
}

/** Throws if a value is not one of the `choices`; undefined is nobody's choice. */
export function checkChoice(field: string, value: unknown, choices: readonly string[]): void {
  if (value === undefined || choices.includes(value as string)) return;
  const given = typeof value === 'string' ? JSON.stringify(value) : typeof value;
  throw new UsageError('invalid-options', { field }, `\`${field}\` is one of ${choices.join(', ')}, not ${given}.`);
}

/** Throws if a value is given that is of another type. */
export function checkType(field: string, value: unknown, type: 'boolean' | 'function' | 'string'): void {
  if (value !== undefined && typeof value !== type) throw wrongType(field, value, type);
}

export function wrongType(field: string, value: unknown, type: 'boolean' | 'function' | 'string'): UsageError {
  const given = value === null ? 'null' : `something of the type ${typeof value}`;
  const wanted = type === 'string' ? 'text' : type;
  return new UsageError('invalid-options', { field }, `\`${field}\` is a ${wanted}, not ${given}.`);
}

/** Those that share most of their letters, pair by pair, with the key. */
function nearest(key: string, known: readonly string[]): readonly string[] {
  const own = pairsOf(key);
  const likeness = (other: string): number => {
    const pairs = pairsOf(other);
    return (2 * pairs.filter((pair) => own.includes(pair)).length) / (pairs.length + own.length);
  };
  const scored = known.map((name) => ({ name, like: likeness(name) })).filter(({ like }) => like > 0.3);
  return scored
    .sort((a, b) => b.like - a.like)
    .slice(0, 3)
    .map(({ name }) => name);
}

function pairsOf(name: string): readonly string[] {
  const letters = name
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
    .slice(0, 64);
  return [...letters].slice(1).map((letter, index) => `${letters[index]}${letter}`);
}
