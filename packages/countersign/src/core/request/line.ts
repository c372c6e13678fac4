// A value as people read it: labels from its JSON Schema, money with its currency, dates as days and times. Every screen, mail and
// text makes its lines here. A line reads otherwise than its value only where nothing is lost.

import { isObject, type Json, type JsonObject } from '../json.ts';
import { plainSchema, type Schema } from './plain-schema.ts';
import { moneyIn, type Reading, readingOf } from './reading.ts';

/** One value, or one entry of an object or a list. */
export type Line = {
  /** The property, or the place in a list from 0. Empty for the whole value. */
  readonly name: string;
  /** The title of its schema, or a short description; otherwise its name. */
  readonly label: string;
  readonly value: Json;
  /** How people read it; undefined if they read the value itself. */
  readonly reading: Reading | undefined;
  /** The entries of an object or a list. A currency that reads with its amount has no line of its own. */
  readonly inside: () => readonly Line[];
};

/** `schema`: JSON Schema of the value. Without one, labels are names, and values read as they are. */
export function lineOf(value: Json, schema?: Schema | null): Line {
  const root = schema ?? {};
  return makeLine({ name: '', label: '', value }, root, root, {});
}

/** The line at a path; undefined if it has none. */
export function lineAt(line: Line, path: readonly (string | number)[]): Line | undefined {
  let found: Line | undefined = line;
  for (const key of path) found = found?.inside().find(({ name }) => name === String(key));
  return found;
}

/** The labels on the way to a line; undefined if none of them is better than its name, or a name has no line. */
export function labelsTo(line: Line, path: readonly (string | number)[]): readonly string[] | undefined {
  const on = path.map((_, index) => lineAt(line, path.slice(0, index + 1)));
  const isList = (index: number): boolean => Array.isArray((index === 0 ? line : on[index - 1])?.value);
  if (!on.some((at, index) => at && !isList(index) && at.label !== at.name)) return undefined;
  const labels = on.map((at) => at?.label);
  return labels.every((label) => label !== undefined) ? labels : undefined;
}

type Entry = Pick<Line, 'name' | 'label' | 'value'>;

/** `beside`: the object that the entry is in. */
function makeLine(entry: Entry, given: unknown, root: Schema, beside: { readonly [name: string]: unknown }): Line {
  const { value } = entry;
  const schema = plainSchema(given, root, value);
  const isNested = typeof value === 'object' && value !== null;
  return {
    ...entry,
    reading: isNested ? undefined : readingOf(value, schema, beside),
    inside: () => (isNested ? linesIn(value, schema, root) : []),
  };
}

function linesIn(value: Json & object, schema: Schema, root: Schema): readonly Line[] {
  if (Array.isArray(value)) {
    const { items, prefixItems } = schema;
    const places = [prefixItems, items].find(Array.isArray) as readonly unknown[] | undefined;
    return value.map((item, place) => {
      const entry = { name: String(place), label: `${place + 1}.`, value: item };
      return makeLine(entry, places && place < places.length ? places[place] : items, root, {});
    });
  }
  const object = value as JsonObject;
  const labels = labelsOf(object, schema, root);
  const lines = Object.entries(object).map(([name, inner]) => {
    const { properties, additionalProperties } = schema;
    const given = isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    return makeLine({ name, label: labels.get(name) ?? name, value: inner as Json }, given, root, object);
  });
  const joined = joinedCurrencies(lines, schema, root);
  return joined.size === 0 ? lines : lines.filter(({ name }) => !joined.has(name));
}

/** The fields with a currency that reads with every amount that it belongs to. */
function joinedCurrencies(lines: readonly Line[], { properties }: Schema, root: Schema): ReadonlySet<string> {
  if (!isObject(properties)) return NONE;
  const fields = lines.flatMap(({ name, reading }) => {
    const field = Object.hasOwn(properties, name) && moneyIn(plainSchema(properties[name], root))?.currencyField;
    return typeof field === 'string' ? [{ field, isRead: reading?.is === 'money' }] : [];
  });
  const left = new Set(fields.filter(({ isRead }) => !isRead).map(({ field }) => field));
  return new Set(fields.map(({ field }) => field).filter((field) => !left.has(field)));
}

const NONE: ReadonlySet<string> = new Set();

/** Labels that are not clear are names: two that are alike, and one that is the name of another field. */
function labelsOf(object: JsonObject, { properties }: Schema, root: Schema): ReadonlyMap<string, string> {
  const labels = Object.keys(object).map((name) => {
    const isKnown = isObject(properties) && Object.hasOwn(properties, name);
    return [name, isKnown ? labelOf(name, plainSchema(properties[name], root)) : name] as const;
  });
  const count = new Map<string, number>();
  for (const texts of labels) for (const text of new Set(texts)) count.set(text, (count.get(text) ?? 0) + 1);
  return new Map(labels.map(([name, label]) => [name, count.get(label) === 1 ? label : name]));
}

/** The title of a schema, or its description if that is short; otherwise the name of the field. */
export function labelOf(name: string, { title, description }: Schema): string {
  if (isLabel(title, LONGEST_TITLE)) return title;
  const about = typeof description === 'string' ? description.replace(/\.$/, '') : undefined;
  return isLabel(about, LONGEST_DESCRIPTION) ? about : name;
}

const LONGEST_TITLE = 60;
/** A longer description is an explanation. */
const LONGEST_DESCRIPTION = 40;

/** One line of plain words, so that it cannot pass for a value or for another line. */
const isLabel = (text: unknown, longest: number): text is string =>
  typeof text === 'string' && text.length <= longest && WORDS.test(text);

const WORDS = /^[\p{L}\p{N}](?: ?[\p{L}\p{M}\p{N}.,'’()/%&€$£#-])*$/u;
