// Checks options against a table of what a function takes. A misspelt option would have no effect, so it is refused.
import { UsageError } from './errors.ts';
import { isObject } from './json.ts';

/** What an option may be. Undefined passes, as if the option were left out. */
export type OptionKind = {
  /** Completes "must be …". */
  readonly is: string;
  readonly fits: (value: unknown) => boolean;
  readonly required?: true;
  /** It may be left out, but not be undefined. */
  readonly neverUndefined?: true;
};

/** Every option of `T`; the compiler reports a missing one. */
export type OptionTable<T> = { readonly [Name in keyof T]-?: OptionKind };

type AnyTable = { readonly [name: string]: OptionKind };

export const anything: OptionKind = { is: 'anything', fits: () => true };
export const aString: OptionKind = { is: 'a string', fits: (value) => typeof value === 'string' };
export const aStringOrNull: OptionKind = { is: 'a string', fits: (value) => value === null || aString.fits(value) };
/** In a string, every substring would match. */
export const someStrings: OptionKind = {
  is: 'an array of strings',
  fits: (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
};
export const aBoolean: OptionKind = { is: 'true or false', fits: (value) => typeof value === 'boolean' };
export const aFunction: OptionKind = { is: 'a function', fits: (value) => typeof value === 'function' };
export const aWholeNumber: OptionKind = wholeNumberUpTo();
/** Timers fire at once if they get a longer time. */
export const aTimerMs: OptionKind = wholeNumberUpTo(2_147_483_647);
export const aTimeMs: OptionKind = { is: 'a time in whole milliseconds', fits: Number.isSafeInteger };
/** A controller is not a signal: nothing could be stopped by it. */
export const aSignal: OptionKind = {
  is: 'an AbortSignal, such as the `signal` of a controller',
  fits: (value) => isObject(value) && typeof value.aborted === 'boolean',
};
/** A promise would pass for an empty context: gates that look at it would let calls run. */
export const aContext: OptionKind = { is: 'an object; await a promise first', fits: (value) => !isThenable(value) };

export function oneOf(...choices: readonly string[]): OptionKind {
  return { is: `one of ${choices.join(', ')}`, fits: (value) => choices.includes(value as string) };
}

function wholeNumberUpTo(most?: number): OptionKind {
  const is = most === undefined ? 'a whole number from 1' : `a whole number from 1 to ${most}`;
  const fits = (value: unknown) => Number.isInteger(value) && Number(value) > 0 && Number(value) <= (most ?? Infinity);
  return { is, fits };
}

/** Throws `invalid-options` for unknown options, else for the first value that does not fit. `owner` names the function. */
export function checkOptions(owner: string, options: unknown, table: AnyTable): void {
  if (!isObject(options)) {
    const message = `${capitalized(owner)} takes an object of options, not ${shown(options)}.`;
    throw new UsageError('invalid-options', { given: shown(options) }, message);
  }
  if (allFit(options, table)) return;
  const unknown = unknownOptions(options, table);
  if (unknown)
    throw new UsageError('invalid-options', { unknown: unknown.names }, `${capitalized(owner)} ${unknown.problem}.`);
  const fault = findFault(options, table);
  if (fault) {
    const message = `\`${fault.name}\` of ${owner} must be ${fault.wanted}, not ${fault.found}.`;
    throw new UsageError('invalid-options', { field: fault.name }, message);
  }
}

/** Nearly always true, so it is found out first, without making anything. False if it must be looked at more closely. */
function allFit(options: Record<string, unknown>, table: AnyTable): boolean {
  if (Object.getPrototypeOf(options) !== Object.prototype || isDemanding(table)) return false;
  for (const name in options) {
    if (!Object.hasOwn(table, name)) return false;
    const value = options[name];
    if (value !== undefined && !table[name]?.fits(value)) return false;
  }
  return true;
}

const DEMANDING = new WeakMap<AnyTable, boolean>();

/** An option must be given, or must not be undefined. */
function isDemanding(table: AnyTable): boolean {
  const known = DEMANDING.get(table);
  if (known !== undefined) return known;
  const demands = Object.values(table).some(({ required, neverUndefined }) => required || neverUndefined);
  DEMANDING.set(table, demands);
  return demands;
}

export function optionProblem(options: object, table: AnyTable): string | undefined {
  const fault = findFault(options, table);
  return fault && `${fault.name} must be ${fault.wanted}, not ${fault.found}`;
}

/** Returns the options that the table does not have, and what to say about them. */
export function unknownOptions(
  options: object,
  table: AnyTable,
): { readonly names: readonly string[]; readonly problem: string } | undefined {
  const names = Object.keys(options).filter((name) => !Object.hasOwn(table, name));
  if (names.length === 0) return undefined;
  return { names, problem: `has no option ${names.join(', ')} (it takes ${Object.keys(table).join(', ')})` };
}

export function without<T extends object, Name extends keyof T>(table: T, ...names: readonly Name[]): Omit<T, Name> {
  const kept = Object.entries(table).filter(([name]) => !(names as readonly string[]).includes(name));
  return Object.fromEntries(kept) as Omit<T, Name>;
}

export function checkValue(name: string, value: unknown, { is, fits }: OptionKind): void {
  if (!fits(value))
    throw new UsageError('invalid-options', { field: name }, `\`${name}\` must be ${is}, not ${shown(value)}.`);
}

export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return isObject(value) && typeof value.then === 'function';
}

type Fault = { readonly name: string; readonly wanted: string; readonly found: string };

function findFault(options: object, table: AnyTable): Fault | undefined {
  const values = options as { readonly [name: string]: unknown };
  for (const name in table) {
    const kind = table[name] as OptionKind;
    if (kind === anything) continue;
    const value = values[name];
    const passes = value === undefined ? !kind.required && !(kind.neverUndefined && name in values) : kind.fits(value);
    if (!passes) return { name, wanted: kind.is, found: shown(value) };
  }
  return undefined;
}

export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 100));
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return isThenable(value) ? 'a promise' : 'an object';
  return typeof value === 'function' ? 'a function' : String(value);
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
