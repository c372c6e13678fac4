// Drafts: the current values of a form, and how they become JSON.
import type { Problem } from 'countersign/ui';
import type { Words } from '../appearance.tsx';
import { isSame } from '../card/difference.ts';
import { numberIn, textProblem } from './check.ts';
import type { Field } from './field.ts';
import { lossIn } from './json-loss.ts';

/** Parallel to the fields. Text stays as typed, so that half a number can be typed on. */
export type Draft =
  | { readonly is: 'absent' }
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'choice'; readonly index: number }
  | { readonly is: 'boolean'; readonly value: boolean }
  | { readonly is: 'object'; readonly properties: readonly Draft[]; readonly others: readonly NamedDraft[] }
  | { readonly is: 'array'; readonly items: readonly KeyedDraft[] }
  | { readonly is: 'union'; readonly branch: number; readonly draft: Draft }
  | { readonly is: 'json'; readonly text: string };

export type KeyedDraft = { readonly key: string; readonly draft: Draft };
export type NamedDraft = KeyedDraft & { readonly name: string };

export const ABSENT: Draft = { is: 'absent' };

const DEPTH_AT_MOST = 12;
/** Longer lists are edited as text instead of a thousand inputs. */
const ENTRIES_AT_MOST = 100;

let keys = 0;
export const newKey = (): string => `entry-${++keys}`;

/** A draft of a given value. What does not fit the field is kept as JSON text, so that nothing is lost from sight. */
export function draftOf(field: Field, value: unknown): Draft {
  return drafted(field, value, { left: TRIES_AT_MOST }) ?? jsonOf(value);
}

/** A schema may have more ways through it than there is time to try; then the value is edited as text. */
const TRIES_AT_MOST = 5_000;

type Tries = { left: number };

const jsonOf = (value: unknown): Draft => ({ is: 'json', text: JSON.stringify(value, null, 2) ?? '' });

/** Undefined if the value as a whole does not fit. While a branch of a union is tried, neither may anything inside it. */
function drafted(field: Field, value: unknown, tries: Tries, isTrial = false): Draft | undefined {
  if (isTrial && tries.left-- <= 0) return undefined;
  const inside = (field: Field, value: unknown) =>
    drafted(field, value, tries, isTrial) ?? (isTrial ? undefined : jsonOf(value));
  switch (field.is) {
    case 'text':
      return typeof value === 'string' ? { is: 'text', text: value } : undefined;
    case 'number':
      return typeof value === 'number' ? { is: 'text', text: String(value) } : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? { is: 'boolean', value } : undefined;
    case 'choice': {
      const index = field.options.findIndex((option) => isSame(option.value, value));
      return index >= 0 ? { is: 'choice', index } : undefined;
    }
    case 'array': {
      if (!Array.isArray(value) || value.length > ENTRIES_AT_MOST) return undefined;
      const items: KeyedDraft[] = [];
      for (const item of value) {
        const draft = inside(field.item(), item);
        if (!draft) return undefined;
        items.push({ key: newKey(), draft });
      }
      return { is: 'array', items };
    }
    case 'object':
      return isRecord(value) ? draftedObject(field, value, inside) : undefined;
    case 'union':
      for (const [branch, { field: inner }] of field.branches.entries()) {
        const draft = drafted(inner(), value, tries, true);
        if (draft) return { is: 'union', branch, draft };
      }
      return undefined;
    case 'json':
      return undefined;
  }
}

function draftedObject(
  field: Field & { is: 'object' },
  value: { readonly [key: string]: unknown },
  inside: (field: Field, value: unknown) => Draft | undefined,
): Draft | undefined {
  if (Object.keys(value).length > ENTRIES_AT_MOST) return undefined;
  const known = new Map(field.properties.map(({ name, field }) => [name, field()]));
  const { others: other } = field;
  const drafts = new Map<string, Draft>();
  // Constants first: they tell at once whether this is the branch, however much there is in the rest.
  const names = Object.keys(value);
  const isConstant = (name: string) => Number(known.get(name)?.is === 'choice');
  for (const name of names.toSorted((a, b) => isConstant(b) - isConstant(a))) {
    const own = known.get(name) ?? other?.();
    const draft = own && inside(own, value[name]);
    if (!draft) return undefined;
    drafts.set(name, draft);
  }
  return {
    is: 'object',
    properties: field.properties.map(({ name }) => drafts.get(name) ?? ABSENT),
    others: names.flatMap((name) => {
      const draft = known.has(name) ? undefined : drafts.get(name);
      return draft ? [{ key: newKey(), name, draft }] : [];
    }),
  };
}

/** Makes an empty draft, with the schema's default where it has one. */
export function emptyDraft(field: Field, depth = 0): Draft {
  if (field.start !== undefined) return draftOf(field, field.start);
  if (depth > DEPTH_AT_MOST) return { is: 'json', text: '' };
  switch (field.is) {
    case 'text':
    case 'number':
      return { is: 'text', text: '' };
    case 'boolean':
      return ABSENT;
    case 'choice':
      return field.options.length === 1 ? { is: 'choice', index: 0 } : ABSENT;
    case 'object':
      return {
        is: 'object',
        properties: field.properties.map(({ required, field: inner }) => {
          const property = inner();
          return required || property.start !== undefined ? emptyDraft(property, depth + 1) : ABSENT;
        }),
        others: [],
      };
    case 'array':
      return {
        is: 'array',
        items: Array.from({ length: Math.min(field.minItems, ENTRIES_AT_MOST) }, () => ({
          key: newKey(),
          draft: emptyDraft(field.item(), depth + 1),
        })),
      };
    case 'union': {
      const [first] = field.branches;
      return first ? { is: 'union', branch: 0, draft: emptyDraft(first.field(), depth + 1) } : { is: 'json', text: '' };
    }
    case 'json':
      return { is: 'json', text: '' };
  }
}

/** The result of reading a draft: a value, nothing, or a problem. */
export type Read =
  | { readonly is: 'value'; readonly value: unknown }
  | { readonly is: 'absent' }
  | { readonly is: 'wrong'; readonly problems: readonly Problem[] };

/** Reads a draft. The checks save a round trip; the server checks again, and its word counts. */
export function readDraft(field: Field, draft: Draft, words: Words, path: readonly string[] = []): Read {
  const wrong = (message: string): Read => ({ is: 'wrong', problems: [{ path, message }] });
  const value = (value: unknown): Read => ({ is: 'value', value });
  switch (draft.is) {
    case 'absent':
      return { is: 'absent' };
    case 'json':
      try {
        const parsed: unknown = JSON.parse(draft.text);
        const loss = lossIn(draft.text, words);
        return loss === undefined ? value(parsed) : wrong(loss);
      } catch {
        return wrong(words.mustBeJson);
      }
    case 'text': {
      if (field.is === 'number') {
        const read = numberIn(draft.text, field, words);
        return 'problem' in read ? wrong(read.problem) : value(read.number);
      }
      const problem = field.is === 'text' ? textProblem(draft.text, field, words) : undefined;
      return problem === undefined ? value(draft.text) : wrong(problem);
    }
    case 'boolean':
      return value(draft.value);
    case 'choice':
      return field.is === 'choice' && draft.index in field.options
        ? value(field.options[draft.index]?.value)
        : wrong(words.mustBeGiven);
    case 'union': {
      const branch = field.is === 'union' ? field.branches[draft.branch] : undefined;
      return branch ? readDraft(branch.field(), draft.draft, words, path) : wrong(words.mustBeGiven);
    }
    case 'array':
      return field.is === 'array' ? readArray(field, draft, words, path) : wrong(words.mustBeGiven);
    case 'object':
      return field.is === 'object' ? readObject(field, draft, words, path) : wrong(words.mustBeGiven);
  }
}

function readArray(
  field: Field & { is: 'array' },
  { items }: Draft & { is: 'array' },
  words: Words,
  path: readonly string[],
): Read {
  const item = field.item();
  const reads = items.map(({ draft }, index) =>
    needed(readDraft(item, draft, words, [...path, `${index}`]), words, [...path, `${index}`]),
  );
  const problems = reads.flatMap((read) => (read.is === 'wrong' ? read.problems : []));
  if (items.length < field.minItems) problems.push({ path, message: words.minItems(field.minItems) });
  if (field.maxItems !== undefined && items.length > field.maxItems)
    problems.push({ path, message: words.maxItems(field.maxItems) });
  if (problems.length > 0) return { is: 'wrong', problems };
  return { is: 'value', value: reads.map((read) => (read.is === 'value' ? read.value : null)) };
}

function readObject(
  field: Field & { is: 'object' },
  draft: Draft & { is: 'object' },
  words: Words,
  path: readonly string[],
): Read {
  const problems: Problem[] = [];
  const entries: [string, unknown][] = [];
  function take(name: string, read: Read) {
    if (read.is === 'wrong') problems.push(...read.problems);
    if (read.is === 'value') entries.push([name, read.value]);
  }
  for (const [index, property] of field.properties.entries()) {
    const place = [...path, property.name];
    const read = readDraft(property.field(), draft.properties[index] ?? ABSENT, words, place);
    take(property.name, property.required ? needed(read, words, place) : read);
  }
  const other = field.others?.();
  for (const { name, draft: entry } of other ? draft.others : []) {
    const place = [...path, name];
    if (entries.some(([taken]) => taken === name)) problems.push({ path: place, message: words.sameName });
    else if (other) take(name, needed(readDraft(other, entry, words, place), words, place));
  }
  if (problems.length > 0) return { is: 'wrong', problems };
  // Object.fromEntries defines, it does not assign: a name like `__proto__` becomes an ordinary entry.
  return { is: 'value', value: Object.fromEntries(entries) };
}

/** Where an answer is needed, none is a problem. */
export function needed(read: Read, words: Words, path: readonly string[]): Read {
  return read.is === 'absent' ? { is: 'wrong', problems: [{ path, message: words.mustBeGiven }] } : read;
}

function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
