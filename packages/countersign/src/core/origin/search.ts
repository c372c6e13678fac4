// Finds where each value of an input came from: the same record and input always give the same origins.

import { isObject, type Json } from '../json.ts';
import { plainSchema, type Schema } from '../request/plain-schema.ts';
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
  readonly schema?: Schema;
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

export function originsOf(input: Json, sources: Sources, { schema = {}, isSensitive, unedited }: Searched): Origins {
  const found: FieldOrigin[] = [];
  const search = searchIn(sources);
  const leaves = leavesOf(input, [], schema, schema);
  for (const { field, value, isName } of leaves) {
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
    const before = unedited !== undefined && valueAt(unedited, field);
    const isEdited = unedited !== undefined && (isName ? before === undefined : before !== value);
    const of: Origin = isEdited && origin.from === 'model' ? { from: 'editor' } : origin;
    // A value comes right after its name, and the worse of the two counts.
    const ofName = found.at(-1);
    if (ofName?.field === field && badness(ofName) >= badness(of)) continue;
    if (ofName?.field === field) found.pop();
    found.push({ field, ...of, ...sensitive });
  }
  return found;
}

const badness = ({ from }: Origin): number => ['model', 'not-searched', 'untrusted'].indexOf(from);

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

/** `isName`: the value is the last name of the field itself. */
type Leaf = { readonly field: readonly string[]; readonly value: string | number; readonly isName?: boolean };

/** A plain word is how programs name fields. Others are data, such as an address in a map from recipients to amounts. */
const PLAIN_WORD = /^[\p{L}_$]+$/u;

/** The texts and numbers of an input that its schema does not list. */
function leavesOf(value: Json, field: readonly string[], given: unknown, root: Schema): readonly Leaf[] {
  const schema = plainSchema(given, root, value);
  const { properties, items, additionalProperties } = schema;
  if (typeof value === 'string' || typeof value === 'number') {
    const listed = [schema.const, schema.default, ...(Array.isArray(schema.enum) ? schema.enum : [])];
    return listed.includes(value) ? [] : [{ field, value }];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const isOwn = isObject(properties) && Object.hasOwn(properties, key);
    const path = [...field, key];
    const leaves = leavesOf(inner, path, isOwn ? properties[key] : (items ?? additionalProperties), root);
    const isData = !isOwn && !Array.isArray(value) && isObject(additionalProperties) && !PLAIN_WORD.test(key);
    return isData ? [{ field: path, value: key, isName: true }, ...leaves] : leaves;
  });
}

export function valueAt(value: Json, path: readonly string[]): Json | undefined {
  return path.reduce<any>((found, key) => (Object.hasOwn(Object(found), key) ? found[key] : undefined), value);
}

/** Whether one of these fields is the field, holds it or is inside it. */
export const isOneOf = (fields: readonly (readonly string[])[], field: readonly string[]): boolean =>
  fields.some((one) => startsWith(field, one) || startsWith(one, field));
