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
  const open: object[] = [];

  function copy(value: unknown, path: string): Json {
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
    if (typeof value === 'number') {
      // JSON has no -0.
      if (Number.isFinite(value)) return value === 0 ? 0 : value;
      throw new NotJson(path, `${value} is not a JSON number`);
    }
    if (value === undefined) return null;
    if (typeof value !== 'object') throw new NotJson(path, `a ${typeof value} is not JSON`);
    if (open.includes(value)) throw new NotJson(path, 'it refers to itself');
    if (open.length >= MAX_DEPTH) throw new NotJson(path, `it is nested deeper than ${MAX_DEPTH} levels`);
    open.push(value);
    const out = copyObject(value, path);
    open.pop();
    return out;
  }

  function copyObject(value: object, path: string): Json {
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON === 'function') return copy(toJSON.call(value, ''), path);
    if (Array.isArray(value)) return copyArray(value, path);
    if (value instanceof Map || value instanceof Set) throw new NotJson(path, 'a Map or Set is not JSON');
    if (value instanceof Error) throw new NotJson(path, 'an Error is not JSON: throw it, or give its message');
    const keys = Object.keys(value);
    if (keys.length === 0 && !isPlain(value)) throw new NotJson(path, `${kindOf(value)} is not JSON: it would be {}`);
    const out: Record<string, Json> = {};
    for (const key of keys) {
      if (key === '__proto__') throw new NotJson(path, 'the key "__proto__" is not allowed');
      const item = (value as Record<string, unknown>)[key];
      if (item !== undefined) out[key] = copy(item, path === '' ? key : `${path}.${key}`);
    }
    return out;
  }

  /** Unlike `map`, it visits holes, so the copy has none. */
  function copyArray(value: readonly unknown[], path: string): Json {
    const out: Json[] = [];
    for (let index = 0; index < value.length; index++) out.push(copy(value[index], `${path}[${index}]`));
    return out;
  }

  try {
    return { ok: true, value: copy(value, '') };
  } catch (error) {
    if (error instanceof NotJson) return { ok: false, problem: error.message };
    // A getter or a toJSON of the caller threw: that value cannot be read as JSON either.
    return { ok: false, problem: `it cannot be read: ${error instanceof Error ? error.message : String(error)}` };
  }
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

/** Copies JSON before it is handed to code that may change it. */
export function copyOf<T>(value: T): T {
  const copy = toJson(value);
  return copy.ok ? (copy.value as T) : value;
}

/** True when both are the same JSON value; the order of an object's keys does not matter. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  const keys = Object.keys(left).filter((key) => left[key] !== undefined);
  if (keys.length !== Object.keys(right).filter((key) => right[key] !== undefined).length) return false;
  return keys.every((key) => Object.hasOwn(right, key) && sameJson(left[key], right[key]));
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
  constructor(path: string, problem: string) {
    super(path === '' ? problem : `at ${path}: ${problem}`);
  }
}
