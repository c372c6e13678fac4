// What can be said of a text or a number before the server is asked.
import type { Words } from '../appearance.tsx';
import type { Field } from './field.ts';

type TextField = Field & { is: 'text' };
type NumberField = Field & { is: 'number' };

const FORM = {
  date: /^\d{4}-\d{2}-\d{2}$/,
  time: /^\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?$/,
  'date-time': /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:\d{2})?$/,
  email: /^[^\s@]+@[^\s@]+$/,
  uri: /^[a-z][a-z\d+.-]*:\S+$/i,
} as const;

/** Longer texts are left to the server: a pattern may take very long on them. */
const MATCHED_AT_MOST = 2_000;

export function textProblem(text: string, field: TextField, words: Words): string | undefined {
  const length = [...text].length;
  if (field.minLength !== undefined && length < field.minLength)
    return length === 0 ? words.mustBeGiven : words.minLength(field.minLength);
  if (field.maxLength !== undefined && length > field.maxLength) return words.maxLength(field.maxLength);
  if (field.format !== 'plain') {
    if (text === '') return words.mustBeGiven;
    return FORM[field.format].test(text) ? undefined : words.mustMatch(field.format);
  }
  if (field.pattern !== undefined && text.length <= MATCHED_AT_MOST && !matches(field.pattern, text))
    return words.mustMatch(field.pattern);
  return undefined;
}

function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    // A pattern of another dialect: the server knows it.
    return true;
  }
}

export function numberIn(
  text: string,
  field: NumberField,
  words: Words,
): { readonly number: number } | { readonly problem: string } {
  const given = text.trim();
  if (given === '') return { problem: words.mustBeGiven };
  const number = Number(given);
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(given) || !Number.isFinite(number))
    return { problem: words.mustBeNumber };
  if (field.integer && !Number.isInteger(number)) return { problem: words.mustBeInteger };
  if (!keepsDigits(given)) return { problem: words.tooManyDigits };
  const problem = limitProblem(number, field, words);
  return problem === undefined ? { number } : { problem };
}

/** Whether the number that a text becomes says the same as the text. */
export function keepsDigits(text: string): boolean {
  return digitsOf(text) === digitsOf(String(Number(text)));
}

/** A number as text in one form, whatever its zeros, point and exponent: `1.50`, `15e-1` and `+1.5` are `15e-1`. */
function digitsOf(text: string): string {
  const [, sign = '', whole = '', part = '', power = '0'] = /^([+-]?)(\d*)\.?(\d*)(?:e(.+))?$/i.exec(text) ?? [];
  const digits = (whole + part).replace(/^0+/, '');
  const short = digits.replace(/0+$/, '');
  if (short === '') return '0';
  return `${sign.replace('+', '')}${short}e${Number(power) - part.length + digits.length - short.length}`;
}

function limitProblem(number: number, field: NumberField, words: Words): string | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = field;
  if (minimum !== undefined && number < minimum) return words.atLeast(minimum);
  if (maximum !== undefined && number > maximum) return words.atMost(maximum);
  if (exclusiveMinimum !== undefined && number <= exclusiveMinimum) return words.moreThan(exclusiveMinimum);
  if (exclusiveMaximum !== undefined && number >= exclusiveMaximum) return words.lessThan(exclusiveMaximum);
  if (multipleOf !== undefined && multipleOf > 0) {
    const times = number / multipleOf;
    // 0.3 is a multiple of 0.1, though not exactly so in binary.
    if (Math.abs(times - Math.round(times)) > 1e-9 * Math.max(1, Math.abs(times))) return words.multipleOf(multipleOf);
  }
  return undefined;
}
