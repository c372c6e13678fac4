// A value for a JSON Schema: from the message where something fits, otherwise examples, defaults or plausible values.
import { isObject } from '../../core/json.ts';
import type { JsonSchema } from '../../models/model.ts';
import type { FoundNumber, MessageValues } from './message-values.ts';
import { currencies, fits, hasRole, plausibleString, saidString } from './string-value.ts';
import { stemOf, wordsOf } from './words.ts';

export type Filled = {
  readonly value: unknown;
  /** The required properties that the message does not name. Their values are made up. */
  readonly missing: readonly Missing[];
};

export type Missing = { readonly name: string; readonly choices: readonly unknown[] };

/** The same schema and message give the same value. Each number of the message is used once. */
export function fillSchema(schema: JsonSchema, said: MessageValues): Filled {
  const missing = new Map<string, Missing>();
  const filling: Filling = { root: schema, said, taken: new Set(), missing };
  const value = valueFor(filling, '', schema, { isRequired: true, depth: 0 });
  return { value, missing: [...missing.values()] };
}

type Filling = {
  readonly root: JsonSchema;
  readonly said: MessageValues;
  /** Parts of the message that are used. */
  readonly taken: Set<FoundNumber | string>;
  readonly missing: Map<string, Missing>;
};
type Place = { readonly isRequired: boolean; readonly depth: number };

/** Schemas may refer to themselves: from a certain depth, lists are empty and nothing follows. */
const DEEPEST = 8;
const DEEP_ENOUGH = 3;

/** Undefined if the property can be left out. */
function valueFor(filling: Filling, name: string, given: JsonSchema, { isRequired, depth }: Place): unknown {
  const schema = chosenVariant(filling, resolved(filling.root, given));
  if ('const' in schema) return isRequired ? schema.const : undefined;
  const said = saidValue(filling, name, schema, { isRequired, depth });
  if (said !== undefined) return said;
  if (!isRequired || depth > DEEPEST) return undefined;
  if ('default' in schema) return schema.default;
  if (Array.isArray(schema.examples) && schema.examples.length > 0) return madeUp(filling, name, schema.examples[0]);
  if ('example' in schema) return madeUp(filling, name, schema.example);
  return plausibleValue(filling, name, schema, { isRequired, depth });
}

/** Notes that the message does not name the value. */
function madeUp<T>({ missing }: Filling, name: string, value: T, choices: readonly unknown[] = []): T {
  missing.set(name, { name, choices });
  return value;
}

/** A value that the message contains. */
function saidValue(filling: Filling, name: string, schema: JsonSchema, place: Place): unknown {
  const { said } = filling;
  if (Array.isArray(schema.enum)) return saidChoice(schema.enum, said);
  switch (typeOf(schema)) {
    case 'string':
      return saidString(name, schema, said, place.isRequired);
    case 'number':
    case 'integer':
      return saidNumber(filling, name, schema, place.isRequired);
    case 'boolean':
      return saidBoolean(name, said);
    default:
      return undefined;
  }
}

function plausibleValue(filling: Filling, name: string, schema: JsonSchema, place: Place): unknown {
  const { enum: choices } = schema;
  if (Array.isArray(choices)) return choices.length > 1 ? madeUp(filling, name, choices[0], choices) : choices[0];
  switch (typeOf(schema)) {
    case 'string':
      return saidObject(filling, name, schema) ?? madeUp(filling, name, plausibleString(name, schema, filling.said));
    case 'number':
    case 'integer':
      return madeUp(filling, name, plausibleNumber(schema));
    case 'boolean':
      return madeUp(filling, name, false, ['yes', 'no']);
    case 'array':
      return listFor(filling, name, schema, place.depth);
    case 'object':
      return objectFor(filling, schema, place.depth);
    case 'null':
      return null;
    default:
      // Anything goes: a nested value is the text, a whole input is an object.
      return name === '' ? {} : filling.said.text;
  }
}

/** `customers` in `Delete the database customers`, for one property whose name and format say nothing about it. */
function saidObject({ said: { object }, taken }: Filling, name: string, schema: JsonSchema): string | undefined {
  if (object === undefined || taken.has(object) || schema.format !== undefined) return undefined;
  if (hasRole(name) || !fits(object, schema)) return undefined;
  taken.add(object);
  return object;
}

function objectFor(filling: Filling, schema: JsonSchema, depth: number): unknown {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const filled = Object.entries(properties).flatMap(([name, property]) => {
    const place = { isRequired: required.has(name), depth: depth + 1 };
    const value = valueFor(filling, name, asSchema(property), place);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(filled);
}

/** As many items as the message names, or as few as the schema allows, but one at least. */
function listFor(filling: Filling, name: string, schema: JsonSchema, depth: number): readonly unknown[] {
  const { minItems, maxItems = Number.POSITIVE_INFINITY } = schema as { minItems?: number; maxItems?: number };
  if (minItems === undefined && depth > DEEP_ENOUGH) return [];
  const item = (given: unknown, { missing }: Pick<Filling, 'missing'> = filling) =>
    valueFor({ ...filling, missing }, singular(name), asSchema(given), { isRequired: true, depth: depth + 1 });
  if (Array.isArray(schema.prefixItems)) return schema.prefixItems.map((given) => item(given));
  const items = resolved(filling.root, asSchema(schema.items));
  const named = namedItems(items, filling.said);
  const fewest = Math.min(minItems ?? 1, maxItems);
  // Of a list of objects, their properties are missing.
  const isPlain = typeOf(items) !== 'object';
  if (isPlain && named.length < fewest) madeUp(filling, name, named, asChoices(items.enum));
  const made = () => item(items, isPlain ? { missing: new Map() } : filling);
  const found = named.length > 0 ? named : [made()].filter((value) => value !== undefined);
  const more = Array.from({ length: Math.max(0, fewest - found.length) }, (_, index) =>
    another(items, found[0], index + 2),
  );
  return [...found, ...more].slice(0, maxItems);
}

/** All items that the message names. */
function namedItems(items: JsonSchema, said: MessageValues): readonly unknown[] {
  if (Array.isArray(items.enum)) return items.enum.filter((choice) => mentions(said, choice));
  const type = typeOf(items);
  if (type === 'number' || type === 'integer') return said.numbers.map(({ value }) => value);
  if (type !== 'string') return [];
  if (items.format === 'email') return said.emails;
  return said.choices;
}

/** Items may have to differ from each other. */
function another(items: JsonSchema, first: unknown, count: number): unknown {
  if (Array.isArray(items.enum)) return items.enum[count - 1] ?? first;
  if (typeof first === 'number') return first + count - 1;
  return typeof first === 'string' && items.format === undefined ? `${first} ${count}` : first;
}

function saidNumber({ said, taken }: Filling, name: string, schema: JsonSchema, guesses: boolean): number | undefined {
  const stems = wordsOf(name).map(stemOf);
  const free = said.numbers.filter((found) => !taken.has(found));
  const labelled = free.find(({ beside }) => beside.some((word) => stems.includes(word)));
  const money = isMoney(name) ? free.find((found) => found.isMoney) : undefined;
  const fitting = free.filter(({ value }) => fitsNumber(value, schema));
  const amounts = fitting.filter(({ isIdentifier }) => !isIdentifier);
  const guess = amounts.find((found) => !found.isMoney) ?? amounts[0];
  // A number that the user clearly means is used even if the schema refuses it: the refusal is what the user wants to see.
  const found = labelled ?? money ?? (guesses ? guess : undefined);
  if (found) taken.add(found);
  return found?.value;
}

/** The property is an amount of money. */
export const isMoney = (name: string): boolean => wordsOf(name).some((word) => MONEY_NAMES.has(stemOf(word)));

const MONEY_NAMES: ReadonlySet<string> = new Set(
  'amount price cost total sum fee budget value salary euros dollars cents balance limit'.split(' ').map(stemOf),
);

type Range = {
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
};

function fitsNumber(value: number, schema: JsonSchema): boolean {
  const {
    minimum = -Infinity,
    exclusiveMinimum = -Infinity,
    maximum = Infinity,
    exclusiveMaximum = Infinity,
  } = schema as Range;
  const { multipleOf } = schema as Range;
  if (value < minimum || value > maximum || value <= exclusiveMinimum || value >= exclusiveMaximum) return false;
  if (typeOf(schema) === 'integer' && !Number.isInteger(value)) return false;
  return multipleOf === undefined || Number.isInteger(value / multipleOf);
}

function plausibleNumber(schema: JsonSchema): number {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf = 1 } = schema as Range;
  const least = minimum ?? exclusiveMinimum;
  const most = maximum ?? exclusiveMaximum;
  const candidates = [42, 1, 10, 0, least, most, middle(least, most)].flatMap((value) =>
    value === undefined
      ? []
      : [value, Math.ceil(value / multipleOf) * multipleOf, value + multipleOf, value - multipleOf],
  );
  return candidates.find((value) => fitsNumber(value, schema)) ?? least ?? 1;
}

const middle = (least: number | undefined, most: number | undefined): number | undefined =>
  least === undefined || most === undefined ? undefined : (least + most) / 2;

/** `urgent` and `not urgent`. */
function saidBoolean(name: string, { text }: MessageValues): boolean | undefined {
  const spoken = wordsOf(name).filter((word) => !/^(?:is|has|should|be)$/.test(word));
  const found =
    spoken.length === 0
      ? null
      : new RegExp(`(\\b(?:not|no|without|non)\\W+)?\\b${spoken.join('\\W*')}\\b(\\W+(?:no|false)\\b)?`, 'iu').exec(
          text,
        );
  return found === null ? undefined : found[1] === undefined && found[2] === undefined;
}

function saidChoice(choices: readonly unknown[], said: MessageValues): unknown {
  return choices.find((choice) => mentions(said, choice));
}

function mentions(said: MessageValues, choice: unknown): boolean {
  if (typeof choice === 'number') return said.numbers.some(({ value }) => value === choice);
  if (typeof choice !== 'string' || choice === '') return false;
  if (currencies(said).includes(choice.toUpperCase())) return true;
  const words = wordsOf(said.text).map(stemOf);
  const wanted = wordsOf(choice).map(stemOf);
  return wanted.length > 0 && wanted.every((word) => words.includes(word));
}

/** Of several schemas the one whose constant the message names, otherwise the first that is not null. */
function chosenVariant(filling: Filling, schema: JsonSchema, hops = 0): JsonSchema {
  const variants = [schema.anyOf, schema.oneOf].find((list) => Array.isArray(list) && list.length > 0);
  if (variants === undefined || hops > DEEPEST) return schema;
  const usable = (variants as readonly unknown[])
    .map((variant) => chosenVariant(filling, resolved(filling.root, asSchema(variant)), hops + 1))
    .filter((variant) => typeOf(variant) !== 'null' && variant.const !== null);
  const { anyOf: _any, oneOf: _one, ...around } = schema;
  return { ...around, ...(usable.find((variant) => isNamed(variant, filling.said)) ?? usable[0] ?? { type: 'null' }) };
}

function isNamed(variant: JsonSchema, said: MessageValues): boolean {
  if (mentions(said, variant.const)) return true;
  const properties = isObject(variant.properties) ? Object.values(variant.properties) : [];
  return properties.some((property) => isObject(property) && mentions(said, property.const));
}

/** Follows `$ref` and merges `allOf`. */
function resolved(root: JsonSchema, schema: JsonSchema, hops = 0): JsonSchema {
  if (typeof schema.$ref === 'string' && hops < DEEPEST) {
    const { $ref, ...beside } = schema;
    const path = $ref
      .replace(/^#\/?/, '')
      .split('/')
      .filter((key) => key !== '');
    const found = path.reduce<unknown>((at, key) => (isObject(at) ? at[decodeURIComponent(key)] : undefined), root);
    return resolved(root, { ...asSchema(found), ...beside }, hops + 1);
  }
  if (!Array.isArray(schema.allOf)) return schema;
  const { allOf, ...own } = schema;
  return allOf.map((part) => resolved(root, asSchema(part), hops + 1)).reduce(merged, own);
}

function merged(one: JsonSchema, other: JsonSchema): JsonSchema {
  const properties = { ...asSchema(one.properties), ...asSchema(other.properties) };
  const required = [one.required, other.required].flatMap((names) => (Array.isArray(names) ? names : []));
  return { ...one, ...other, ...(Object.keys(properties).length > 0 && { properties, required }) };
}

function typeOf(schema: JsonSchema): string | undefined {
  const { type } = schema;
  if (Array.isArray(type)) return type.find((name) => name !== 'null');
  if (typeof type === 'string') return type;
  return isObject(schema.properties) ? 'object' : undefined;
}

const asChoices = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const asSchema = (value: unknown): JsonSchema => (isObject(value) ? value : {});

const singular = (name: string): string => name.replace(/ies$/, 'y').replace(/([^s])s$/, '$1');
