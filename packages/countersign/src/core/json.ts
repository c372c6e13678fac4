// JSON values, which can be stored, sent and shown. Anything else is rejected with its path.

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json };

/** How deep a value may be nested; `JSON.stringify` itself overflows the stack not far above. */
const MAX_DEPTH = 500;

export type JsonCheck = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly problem: string };

/**
 * Copies `value` as plain JSON, so that changing the original does not change the record.
 * As `JSON.stringify` does, it honours `toJSON` and leaves out properties that are `undefined`; unlike it, it refuses
 * values that JSON would silently change or drop: functions, symbols, bigints, NaN, infinities, cycles, `__proto__` keys,
 * errors, promises, and class instances that would become `{}`.
 */
export function toJson(value: unknown): JsonCheck {
  const open: Open[] = [];
  try {
    const plain = plainCopy(value, 0);
    if (plain !== undefined) return { ok: true, value: plain };
    return { ok: true, value: copy(value, open) };
  } catch (error) {
    if (error instanceof NotJson) return { ok: false, problem: error.describe(open) };
    // A getter or a toJSON of the caller threw: that value cannot be read as JSON either.
    return { ok: false, problem: `it cannot be read: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** A copy of plain JSON, which nearly everything is; undefined if `copy` must look at it with more care. */
function plainCopy(value: unknown, depth: number): Json | undefined {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  // Adding makes -0, which JSON does not have, 0.
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : undefined;
  if (typeof value !== 'object' || depth === MAX_DEPTH || 'toJSON' in value) return undefined;
  if (Array.isArray(value)) {
    const items: Json[] = [];
    for (let index = 0; index < value.length; index++) {
      const item = plainCopy(value[index], depth + 1);
      if (item === undefined) return undefined;
      items.push(item);
    }
    return items;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return undefined;
  const out: Record<string, Json> = {};
  for (const key of Object.keys(value)) {
    const item = plainCopy((value as Record<string, unknown>)[key], depth + 1);
    if (item === undefined || key === '__proto__') return undefined;
    out[key] = item;
  }
  return out;
}

/** A value that is being copied, and the key in it that is being copied; undefined while its `toJSON` is. */
type Open = { readonly value: object; key: string | number | undefined };

function copy(value: unknown, open: Open[]): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') {
    // JSON has no -0.
    if (Number.isFinite(value)) return value === 0 ? 0 : value;
    throw new NotJson(`${value} is not a JSON number`);
  }
  if (value === undefined) return null;
  if (typeof value !== 'object') throw new NotJson(`a ${typeof value} is not JSON`);
  for (const outer of open) if (outer.value === value) throw new NotJson('it refers to itself');
  if (open.length >= MAX_DEPTH) throw new NotJson(`it is nested deeper than ${MAX_DEPTH} levels`);
  const at: Open = { value, key: undefined };
  open.push(at);
  const out = copyObject(value, at, open);
  open.pop();
  return out;
}

function copyObject(value: object, at: Open, open: Open[]): Json {
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return copy(toJSON.call(value, ''), open);
  if (Array.isArray(value)) return copyArray(value, at, open);
  if (value instanceof Map || value instanceof Set) throw new NotJson('a Map or Set is not JSON');
  if (value instanceof Error) throw new NotJson('an Error is not JSON: throw it, or give its message');
  const keys = Object.keys(value);
  if (keys.length === 0 && !isPlain(value)) throw new NotJson(`${kindOf(value)} is not JSON: it would be {}`);
  const out: Record<string, Json> = {};
  for (const key of keys) {
    if (key === '__proto__') throw new NotJson('the key "__proto__" is not allowed');
    const item = (value as Record<string, unknown>)[key];
    if (item === undefined) continue;
    at.key = key;
    out[key] = copy(item, open);
    at.key = undefined;
  }
  return out;
}

/** Unlike `map`, it visits holes, so the copy has none. */
function copyArray(value: readonly unknown[], at: Open, open: Open[]): Json {
  const out: Json[] = [];
  for (let index = 0; index < value.length; index++) {
    at.key = index;
    out.push(copy(value[index], open));
  }
  return out;
}

/** Checks level by level: recursion into a deep value would overflow the stack. */
export function isTooDeep(value: unknown): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []));
  }
  return false;
}

/** How many values a JSON from outside may have; a field of an object counts twice, for its name and its value. */
export const MOST_VALUES = 10_000;

/** True if it has more than `MOST_VALUES`. Each value is copied, hashed, stored and shown, so many small ones take long. */
export function hasTooManyValues(json: Json): boolean {
  const pending: Json[] = [json];
  for (let count = 0; pending.length > 0; ) {
    const value = pending.pop();
    if (typeof value !== 'object' || value === null) continue;
    const items: readonly Json[] = Object.values(value);
    count += Array.isArray(value) ? items.length : 2 * items.length;
    if (count > MOST_VALUES) return true;
    for (const item of items) pending.push(item);
  }
  return false;
}

/** Copies JSON before it is handed to code that may change it. */
export function copyOf<T>(value: T): T {
  const copy = toJson(value);
  return copy.ok ? (copy.value as T) : value;
}

/** The same text for the same JSON value, whatever the order of its keys: for digests and keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sortedKeys(value)) ?? 'null';
}

/** Faster than a replacer, which is called for each value. */
function sortedKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    const text = JSON.stringify(value);
    return text === undefined ? undefined : sortedKeys(JSON.parse(text));
  }
  if (Array.isArray(value)) return value.map(sortedKeys);
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sortedKeys((value as Record<string, unknown>)[key])]));
}

/**
 * True when both are the same JSON value; the order of an object's keys does not matter. A value that is not plain JSON is never
 * the same as one that is.
 */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) ? !Array.isArray(b) : Array.isArray(b) || !isPlain(a) || !isPlain(b)) return false;
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  let count = 0;
  for (const key of Object.keys(left)) {
    if (left[key] === undefined) continue;
    if (!Object.hasOwn(right, key) || !sameJson(left[key], right[key])) return false;
    count += 1;
  }
  for (const key of Object.keys(right)) if (right[key] !== undefined) count -= 1;
  return count === 0;
}

/** The properties that are not undefined. */
export function defined<const T extends object>(values: T): Defined<T> {
  const kept: { [key: string]: unknown } = {};
  for (const key in values) if (values[key] !== undefined) kept[key] = values[key];
  return kept as Defined<T>;
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object as `{}` makes it, in this realm or another, or one without a prototype. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function kindOf(value: object): string {
  const name = Object.prototype.toString.call(value).slice('[object '.length, -1);
  return name === 'Object' ? 'an object of a class without fields' : `a ${name}`;
}

class NotJson extends Error {
  /** Names the place, which the open values lead to. */
  describe(open: readonly Open[]): string {
    const path = open.reduce((outer, { key }) => {
      if (key === undefined) return outer;
      if (typeof key === 'number') return `${outer}[${key}]`;
      return outer === '' ? key : `${outer}.${key}`;
    }, '');
    return path === '' ? this.message : `at ${path}: ${this.message}`;
  }
}
