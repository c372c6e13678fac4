// Finds where each value of an input came from: the same record and input always give the same origins.

import { isObject, type Json } from '../json.ts';
import { isIn, SearchedText, type Wanted, wantedOf } from './normal.ts';
import { type FieldOrigin, type Origin, type Origins, startsWith } from './origin.ts';

/** A text that values may come from. */
export type Source = Origin & { readonly text: string };

/** The newest sources first. `isCut`: there were more. */
export type Sources = { readonly all: readonly Source[]; readonly isCut: boolean };

/** What can be searched in the conversation that a sub-agent is inside. */
export type Outer = () => Sources;

/** What is known of the input. */
export type Searched = {
  /** The JSON Schema of the input: values that it lists are not looked for. */
  readonly schema?: unknown;
  readonly isSensitive: (field: readonly string[]) => boolean;
  /** What the input was before a person edited it. */
  readonly unedited?: Json;
};

/** Of an input; the others are not searched. */
const MOST_FIELDS = 100;
/** Addresses and numbers in one text; with more, it is not searched. */
const MOST_PARTS = 30;

/** What a person says comes first, then untrusted sources, so that a value in both a trusted and an untrusted one is untrusted. */
const RANKS: readonly Origin['from'][] = ['user', 'answer', 'untrusted', 'instructions', 'tool'];

export function originsOf(input: Json, sources: Sources, { schema, isSensitive, unedited }: Searched): Origins {
  const found: FieldOrigin[] = [];
  const search = searchIn(sources);
  const leaves = leavesOf(input, [], [schema], schema);
  for (const { field, value } of leaves) {
    const sensitive = isSensitive(field) && { sensitive: true as const };
    if (found.length === MOST_FIELDS) {
      found.push({
        field: [],
        from: 'not-searched',
        ...(leaves.some((leaf) => isSensitive(leaf.field)) && { sensitive: true }),
      });
      break;
    }
    const origin = search(value);
    if (!origin) continue;
    const isEdited = unedited !== undefined && valueAt(unedited, field) !== value;
    const of: Origin = isEdited && origin.from === 'model' ? { from: 'editor' } : origin;
    found.push({ field, ...of, ...sensitive });
  }
  return found;
}

/** Undefined for a value that is not looked for. */
function searchIn({ all, isCut }: Sources): (value: string | number) => Origin | undefined {
  const ranked = RANKS.flatMap((rank) => all.filter(({ from }) => from === rank));
  const texts = new Map<Source, SearchedText>();
  const find = (wanted: Wanted): Source | undefined =>
    ranked.find((source) => {
      const text = texts.get(source) ?? new SearchedText(source.text);
      texts.set(source, text);
      return isIn(wanted, text, source.from !== 'untrusted');
    });
  return (value) => {
    const wanted = wantedOf(value);
    if (!wanted) return undefined;
    const whole = find(wanted);
    if (whole?.from === 'user' || whole?.from === 'answer' || whole?.from === 'untrusted') return originIn(whole);
    const parts = typeof value === 'string' ? partsOf(value) : [];
    const foreign = parts.slice(0, MOST_PARTS).flatMap((part) => find(part) ?? []);
    const untrusted = foreign.find(({ from }) => from === 'untrusted');
    if (untrusted) return originIn(untrusted);
    // What was not read may hold the value, too.
    if (isCut || parts.length > MOST_PARTS) return { from: 'not-searched' };
    return whole ? originIn(whole) : { from: 'model' };
  };
}

function originIn({ text: _text, ...origin }: Source): Origin {
  return origin;
}

/** The addresses, hosts and long numbers in a text: one of them may come from elsewhere than the rest. */
function partsOf(value: string): readonly Wanted[] {
  const found = [...value.matchAll(PART)].map(([part]) => part);
  const hosts = [...value.matchAll(HOST)].flatMap(([, host = '']) => host);
  return [...new Set([...found, ...hosts])].filter((part) => part !== value).flatMap((part) => wantedOf(part) ?? []);
}

const PART = new RegExp(
  [
    String.raw`[^\s<>"'(),;:@]+@[^\s<>"'(),;:@]+\.[\p{L}\p{N}]+`,
    String.raw`https?:\/\/[^\s<>"']*[^\s<>"'.,;)]`,
    String.raw`(?<![\p{L}\p{N}])\p{L}{2}\d{2}[\p{L}\p{N}]{11,30}`,
    // An IBAN in groups of four. All but the one of the bank have digits.
    String.raw`(?<![\p{L}\p{N}])\p{L}{2}\d{2} [\p{L}\p{N}]{4}(?: (?=\p{L}*\d)[\p{L}\p{N}]{4}){1,6}(?: \d{1,3}(?!\d))?`,
    String.raw`\+?\d[\d \-/().]{5,}\d`,
  ].join('|'),
  'giu',
);
const HOST = /https?:\/\/(?:[^\s/@]*@)?([^\s/:?#]+)/gi;

type Leaf = { readonly field: readonly string[]; readonly value: string | number };

/** The texts and numbers of an input that its schema does not list. */
function leavesOf(value: Json, field: readonly string[], schemas: readonly unknown[], root: unknown): readonly Leaf[] {
  if (typeof value === 'string' || typeof value === 'number')
    return schemas.some((schema) => lists(schema, value)) ? [] : [{ field, value }];
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    leavesOf(
      inner as Json,
      [...field, key],
      schemas.flatMap((schema) => within(schema, key, root)),
      root,
    ),
  );
}

function lists(schema: unknown, value: string | number): boolean {
  if (!isObject(schema)) return false;
  return (
    schema.const === value || schema.default === value || (Array.isArray(schema.enum) && schema.enum.includes(value))
  );
}

/** The schemas that a field may have. */
function within(schema: unknown, key: string, root: unknown): readonly unknown[] {
  if (!isObject(schema)) return [];
  const { properties, items, additionalProperties } = schema;
  const own =
    isObject(properties) && Object.hasOwn(properties, key) ? properties[key] : (items ?? additionalProperties);
  return own === undefined
    ? choices(schema, root).flatMap((one) => within(one, key, root))
    : [own, ...choices(own, root)];
}

function choices(schema: unknown, root: unknown, depth = 0): readonly unknown[] {
  if (!isObject(schema) || depth > MOST_DEPTH) return [];
  const { anyOf = [], oneOf = [], allOf = [], $ref } = schema as { readonly [key: string]: unknown };
  const named =
    typeof $ref === 'string' && $ref.startsWith('#/') ? valueAt(root as Json, $ref.slice(2).split('/')) : undefined;
  const found = [named, ...[anyOf, oneOf, allOf].flat()].filter(isObject);
  return found.flatMap((one) => [one, ...choices(one, root, depth + 1)]);
}

const MOST_DEPTH = 4;

function valueAt(value: Json, path: readonly string[]): Json | undefined {
  let found: Json | undefined = value;
  for (const key of path) found = isObject(found) && Object.hasOwn(found, key) ? (found[key] as Json) : undefined;
  return found;
}

/** Whether one of these fields is the field, holds it or is inside it. */
export const isOneOf = (fields: readonly (readonly string[])[], field: readonly string[]): boolean =>
  fields.some((one) => startsWith(field, one) || startsWith(one, field));
