// Plain forms from JSON Schema, for places that show labels and inputs and nothing else.
import { defined, isObject, type Json, sameJson } from '../json.ts';
import { labelOf } from './line.ts';

type Schema = { readonly [key: string]: unknown };

/** One answer to choose from. */
export type FormOption = {
  /** The text that stands for the answer in the strings of a form. */
  readonly id: string;
  readonly label: string;
  readonly value: Json;
};

/** One input of a form. */
export type FormField = {
  /** The property that the field fills in; `value` in a form for a single value. */
  readonly name: string;
  /** The title of the schema, or a short description; the name if it has neither. */
  readonly label: string;
  readonly description?: string;
  /** Whether the person must fill it in. */
  readonly required: boolean;
  /** What an empty field means. A field with a default is never `absent`, because the default would take its place unseen. */
  readonly blank: 'refused' | 'empty' | 'absent' | 'null';
  /** The text that the field starts with. */
  readonly start?: string;
} & (
  | {
      readonly type: 'text';
      /** Whether the text may have several lines. */
      readonly multiline: boolean;
      /** Such as `email` or `date-time`. It is a hint: the schema itself is checked when the decision is recorded. */
      readonly format?: string;
      readonly minLength?: number;
      readonly maxLength?: number;
    }
  | {
      readonly type: 'number';
      readonly integer: boolean;
      readonly minimum?: number;
      readonly maximum?: number;
      readonly exclusiveMinimum?: number;
      readonly exclusiveMaximum?: number;
    }
  /** Its strings are dates such as `2026-11-18`. */
  | { readonly type: 'date' }
  /** Its strings are `true` and `false`. */
  | { readonly type: 'boolean' }
  /** Its strings are the ids of the options. */
  | { readonly type: 'choice'; readonly options: readonly FormOption[] }
);

/** A flat list of fields. With `single`, its only field is the whole value; otherwise each field is a property of an object. */
export type Form = { readonly single: boolean; readonly fields: readonly FormField[] };

/** The entered texts, by the name of the field. */
export type FormStrings = { readonly [name: string]: string | undefined };

/** Why a form cannot be read, and which field is meant. */
export type FormProblem = { readonly field: string; readonly message: string };

const MOST_FIELDS = 50;
/** Texts that may be longer get several lines. */
const ONE_LINE = 200;

/**
 * Makes a form from the schema of an answer or an input: a flat object, or a single value. Without a schema, the answer is a text.
 * The form starts with the value `start`, or with the defaults of the schema.
 *
 * Undefined if a plain form cannot show it: lists, objects inside objects, unions, references, more than 50 fields, and a `start`
 * that the form would change. Then link to a page that can.
 * @example
 * const form = formOf(request.inputSchema, request.input);
 * const read = form && readForm(form, { to: 'ann', amount: '90' });
 */
export function formOf(schema: Schema | null, start?: Json): Form | undefined {
  const form = schema?.type === 'object' ? objectForm(schema, start) : singleForm(schema ?? { type: 'string' }, start);
  if (form === undefined || start === undefined) return form;
  const unchanged = readForm(form, startsOf(form));
  return 'value' in unchanged && sameJson(unchanged.value, start) ? form : undefined;
}

/**
 * Reads what a person typed. Numbers are read as programs write them, such as `1250.5`; nothing is guessed from a locale. The
 * checks spare the person a round trip: the whole schema is checked when the decision is recorded.
 */
export function readForm(
  { single, fields }: Form,
  strings: FormStrings,
): { readonly value: Json } | { readonly problems: readonly FormProblem[] } {
  const values: [string, Json][] = [];
  const problems: FormProblem[] = [];
  for (const field of fields) {
    const read = readField(field, Object.hasOwn(strings, field.name) ? strings[field.name] : undefined);
    if ('problem' in read) problems.push({ field: field.name, message: read.problem });
    else if (read.value !== undefined) values.push([field.name, read.value]);
  }
  if (problems.length > 0) return { problems };
  const [first] = values;
  return { value: single && first ? first[1] : Object.fromEntries(values) };
}

const startsOf = ({ fields }: Form): FormStrings => Object.fromEntries(fields.map(({ name, start }) => [name, start]));

function objectForm(schema: Schema, start: Json | undefined): Form | undefined {
  const properties = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  if (properties.length === 0 || properties.length > MOST_FIELDS || isComposed(schema)) return undefined;
  if (start !== undefined && !isObject(start)) return undefined;
  const required = Array.isArray(schema.required) ? schema.required : [];
  const fields = properties.map(([name, property]) => {
    const value = start && Object.hasOwn(start, name) ? (start[name] as Json) : undefined;
    return fieldOf(name, property, { single: false, required: required.includes(name), start: start && { value } });
  });
  return fields.every((field) => field !== undefined) ? { single: false, fields } : undefined;
}

function singleForm(schema: Schema, value: Json | undefined): Form | undefined {
  const start = value === undefined ? undefined : { value };
  const field = fieldOf('value', schema, { single: true, required: true, start });
  return field && { single: true, fields: [field] };
}

type Place = {
  readonly single: boolean;
  readonly required: boolean;
  /** Undefined if the form starts with the defaults. */
  readonly start: { readonly value: Json | undefined } | undefined;
};

function fieldOf(name: string, given: unknown, place: Place): FormField | undefined {
  if (!isObject(given) || name === '__proto__') return undefined;
  const { schema, nullable } = withoutNull(given);
  const fallback = schema.default as Json | undefined;
  const start = place.start ? place.start.value : fallback;
  const input = inputOf(schema, start, place.single);
  if (input === undefined || (typeof start === 'string' && UNTYPABLE.test(start))) return undefined;
  const isText = input.type === 'text';
  const mayBeAbsent = !place.required && fallback === undefined;
  const blank = blankOf({ isText, nullable, mayBeAbsent, start });
  const { title, description } = schema;
  const label = typeof title === 'string' && title !== '' ? title : labelOf(name, schema);
  return {
    name,
    label,
    ...(typeof description === 'string' && (title !== undefined || label === name) && { description }),
    required: blank === 'refused' || (blank === 'empty' && isText && (input.minLength ?? 0) > 0),
    blank,
    ...defined({ start: startOf(input, start) }),
    ...input,
  };
}

/** Control characters and halves of characters, which browsers replace or drop. */
const UNTYPABLE = /[^\P{Cc}\n\t]|\p{Cs}/u;

function blankOf(field: {
  readonly isText: boolean;
  readonly nullable: boolean;
  readonly mayBeAbsent: boolean;
  readonly start: Json | undefined;
}): FormField['blank'] {
  const { isText, nullable, mayBeAbsent, start } = field;
  if (isText && start === '') return 'empty';
  if (nullable && (start === null || !mayBeAbsent)) return 'null';
  if (mayBeAbsent) return 'absent';
  return isText ? 'empty' : 'refused';
}

type Input = DistributiveOmit<FormField, keyof Common>;
type Common = Pick<FormField, 'name' | 'label' | 'description' | 'required' | 'blank' | 'start'>;
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

function inputOf(schema: Schema, start: Json | undefined, single: boolean): Input | undefined {
  const options = optionsOf(schema);
  if (options) return { type: 'choice', options };
  if (isComposed(schema)) return undefined;
  switch (schema.type) {
    case 'string':
      return schema.format === 'date' ? { type: 'date' } : textInput(schema, start, single);
    case 'number':
    case 'integer': {
      const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
      const limits = { minimum, maximum, exclusiveMinimum, exclusiveMaximum };
      const numeric = Object.entries(limits).filter(([, limit]) => typeof limit === 'number');
      return { type: 'number', integer: schema.type === 'integer', ...Object.fromEntries(numeric) };
    }
    case 'boolean':
      return { type: 'boolean' };
    default:
      return undefined;
  }
}

/** A single text without a limit is an answer in the person's own words. */
function textInput({ format, minLength, maxLength }: Schema, start: Json | undefined, single: boolean): Input {
  const most = typeof maxLength === 'number' ? maxLength : undefined;
  const isLong = format === undefined && (most === undefined ? single : most > ONE_LINE);
  const startsLong = typeof start === 'string' && (start.length > ONE_LINE || start.includes('\n'));
  return {
    type: 'text',
    multiline: isLong || startsLong,
    ...(typeof format === 'string' && { format }),
    ...(typeof minLength === 'number' && { minLength }),
    ...(most !== undefined && { maxLength: most }),
  };
}

/** A schema that allows null becomes the other schema, with the properties beside it. */
function withoutNull(given: Schema): { readonly schema: Schema; readonly nullable: boolean } {
  const { anyOf, oneOf, ...beside } = given;
  const types = Array.isArray(given.type) ? given.type.filter((type) => type !== 'null') : [];
  if (Array.isArray(given.type) && types.length === 1)
    return { schema: { ...given, type: types[0] }, nullable: given.type.length > 1 };
  const branches = [anyOf, oneOf].find(Array.isArray) ?? [];
  const others = branches.filter((branch) => !isObject(branch) || branch.type !== 'null');
  if (branches.length !== 2 || others.length !== 1 || !isObject(others[0])) return { schema: given, nullable: false };
  return { schema: { ...others[0], ...beside }, nullable: true };
}

/** Values to choose from: `enum`, `const`, or a union of constants, each perhaps with a title. */
function optionsOf(schema: Schema): readonly FormOption[] | undefined {
  const branches = [schema.oneOf, schema.anyOf].find(Array.isArray);
  const constants = branches?.every((branch): branch is Schema => isObject(branch) && 'const' in branch)
    ? branches
    : [];
  const values = Array.isArray(schema.enum) ? schema.enum : 'const' in schema ? [schema.const] : undefined;
  const named = values?.map((value) => ({ value, title: undefined }));
  const choices = named ?? constants.map(({ const: value, title }) => ({ value, title }));
  const labels = choices.map(({ value, title }) =>
    typeof title === 'string' ? title : typeof value === 'string' ? value : JSON.stringify(value),
  );
  if (labels.length === 0) return undefined;
  // Options that would read alike, such as `1` and `"1"`, are shown as JSON.
  const isPlain = new Set(labels).size === labels.length;
  return choices.map(({ value }, index) => ({
    id: String(index),
    label: isPlain ? (labels[index] ?? '') : JSON.stringify(value),
    value: value as Json,
  }));
}

const COMPOSING = ['$ref', 'allOf', 'anyOf', 'oneOf', 'not', 'if'];

const isComposed = (schema: Schema): boolean => COMPOSING.some((keyword) => keyword in schema);

function startOf(input: Input, start: Json | undefined): string | undefined {
  switch (input.type) {
    case 'text':
    case 'date':
      return typeof start === 'string' ? start : undefined;
    case 'number':
      return typeof start === 'number' ? String(start) : undefined;
    case 'boolean':
      return typeof start === 'boolean' ? String(start) : undefined;
    case 'choice':
      return start === undefined ? undefined : input.options.find(({ value }) => sameJson(value, start))?.id;
  }
}

type Read = { readonly value: Json | undefined } | { readonly problem: string };

function readField(field: FormField, given: string | undefined): Read {
  const text = field.type === 'text' ? given?.replaceAll(/\r\n?/g, '\n') : given?.trim();
  if (text === undefined || text === '') {
    if (field.blank === 'absent') return { value: undefined };
    if (field.blank === 'null') return { value: null };
    if (field.blank === 'refused' || text === undefined) return { problem: 'Required.' };
  }
  switch (field.type) {
    case 'text':
      return readText(text, field);
    case 'number':
      return readNumber(text, field);
    case 'date':
      return isDate(text) ? { value: text } : { problem: 'Enter a date, such as 2026-11-18.' };
    case 'boolean':
      return text === 'true' || text === 'false' ? { value: text === 'true' } : { problem: 'Choose yes or no.' };
    case 'choice': {
      const option = field.options.find(({ id }) => id === text);
      return option ? { value: option.value } : { problem: 'Choose one of the options.' };
    }
  }
}

function readText(text: string, { minLength = 0, maxLength }: FormField & { readonly type: 'text' }): Read {
  // JSON Schema counts characters, not UTF-16 units.
  const length = [...text].length;
  if (length < minLength) return { problem: length === 0 ? 'Required.' : `Enter at least ${minLength} characters.` };
  if (maxLength !== undefined && length > maxLength) return { problem: `Enter at most ${maxLength} characters.` };
  return { value: text };
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/** So many digits are the same after they were a number. */
const SAFE_DIGITS = 15;

function readNumber(text: string, field: FormField & { readonly type: 'number' }): Read {
  const number = Number(text);
  if (!NUMBER.test(text) || !Number.isFinite(number)) return { problem: 'Enter a number, such as 1250.5.' };
  if (field.integer && !Number.isInteger(number)) return { problem: 'Enter a whole number.' };
  const digits = text.replace(/e.*$/i, '').replaceAll(/\D/g, '').replace(/^0+/, '');
  const isZero = digits.replaceAll('0', '') === '';
  if ((digits.length > SAFE_DIGITS && String(number) !== text) || (number === 0 && !isZero))
    return { problem: 'The number has more digits than can be kept.' };
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = field;
  if (minimum !== undefined && number < minimum) return { problem: `Must be at least ${minimum}.` };
  if (maximum !== undefined && number > maximum) return { problem: `Must be at most ${maximum}.` };
  if (exclusiveMinimum !== undefined && number <= exclusiveMinimum)
    return { problem: `Must be more than ${exclusiveMinimum}.` };
  if (exclusiveMaximum !== undefined && number >= exclusiveMaximum)
    return { problem: `Must be less than ${exclusiveMaximum}.` };
  // JSON has no -0.
  return { value: number === 0 ? 0 : number };
}

function isDate(text: string): boolean {
  const [, year, month, day] = (/^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? []).map(Number);
  if (year === undefined || month === undefined || day === undefined || month < 1 || month > 12 || day < 1)
    return false;
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return day <= (month === 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31);
}
