// Groups similar requests, and lists the fields that differ in their inputs.
import { isObject, type Json, sameJson } from '../json.ts';

/** What the grouping reads of a request. */
export type Groupable = {
  readonly agent: string;
  readonly tool: string;
  readonly kind: string;
  readonly input: unknown;
  readonly createdAt: number | null;
};

/** Requests that can be decided together. */
export type SimilarGroup<T> = {
  /** The same for a group that grows or shrinks, as long as its oldest request stays. */
  readonly key: string;
  /** Oldest first. */
  readonly items: readonly T[];
};

/** A field of the inputs: its path, and its name in a table. */
export type InputField = { readonly path: readonly string[]; readonly name: string };

/** Inputs side by side: what all have in common, and a table of what differs. */
export type InputComparison = {
  readonly common: readonly (InputField & { readonly value: Json })[];
  readonly columns: readonly InputField[];
  /** One row for each input, one value for each column; undefined if the input has no such field. */
  readonly rows: readonly (readonly (Json | undefined)[])[];
};

/** Requests with a longer gap between them have probably different causes. */
const NEAR_MS = 3_600_000;

/**
 * Groups requests of the same tool whose inputs have the same fields and types, and which were made near each other in time.
 * Groups are in the order of their first requests; a request that is like no other is alone in its group.
 * @example
 * const groups = groupSimilar(requests);
 * const together = groups.filter(({ items }) => items.length > 1);
 */
export function groupSimilar<T extends Groupable>(
  requests: readonly T[],
  { withinMs = NEAR_MS }: { readonly withinMs?: number } = {},
): readonly SimilarGroup<T>[] {
  const kinds = Map.groupBy(requests, ({ agent, tool, kind, input }) =>
    JSON.stringify([agent, tool, kind, shapeOf(input)]),
  );
  const groups = [...kinds].flatMap(([kind, alike]) => {
    const byAge = alike.toSorted((a, b) => timeOf(a) - timeOf(b));
    return splitWhere(byAge, (before, after) => timeOf(after) - timeOf(before) > withinMs).map((items) => ({
      key: `${kind}@${items[0] ? timeOf(items[0]) : 0}`,
      items,
    }));
  });
  const groupOf = new Map(groups.flatMap((group) => group.items.map((item) => [item, group] as const)));
  return [...new Set(requests.flatMap((request) => groupOf.get(request) ?? []))];
}

/** Puts inputs side by side, field by field; fields of objects inside have a path. Nothing is left out. */
export function compareInputs(inputs: readonly Json[]): InputComparison {
  const flat = inputs.map((input) => fieldsOf(input, []));
  const paths = new Map(flat.flatMap((fields) => [...fields].map(([key, { path }]) => [key, path] as const)));
  const common: InputComparison['common'][number][] = [];
  const columns: (InputField & { readonly key: string })[] = [];
  for (const [key, path] of paths) {
    const field = { path, name: path.length === 0 ? 'input' : path.join('.') };
    const first = flat[0]?.get(key);
    const isCommon = first !== undefined && flat.every((fields) => isSame(fields.get(key)?.value, first.value));
    if (isCommon) common.push({ ...field, value: first.value });
    else columns.push({ ...field, key });
  }
  const rows = flat.map((fields) => columns.map(({ key }) => fields.get(key)?.value));
  return { common, columns: columns.map(({ path, name }) => ({ path, name })), rows };
}

const timeOf = ({ createdAt }: Groupable): number => createdAt ?? 0;

const isSame = (a: Json | undefined, b: Json): boolean => a !== undefined && sameJson(a, b);

/** The names and types of the fields. The elements of an array do not count: lists differ in length. */
function shapeOf(value: unknown): Json {
  if (Array.isArray(value)) return 'array';
  if (!isObject(value)) return value === null ? 'null' : typeof value;
  return Object.keys(value)
    .toSorted()
    .map((key) => [key, shapeOf(value[key])]);
}

function splitWhere<T>(items: readonly T[], isGap: (before: T, after: T) => boolean): readonly (readonly T[])[] {
  const parts: T[][] = [];
  let last: T | undefined;
  for (const item of items) {
    if (last === undefined || isGap(last, item)) parts.push([]);
    parts.at(-1)?.push(item);
    last = item;
  }
  return parts;
}

type Fields = ReadonlyMap<string, { readonly path: readonly string[]; readonly value: Json }>;

/** The values inside objects, by their paths. An empty object is a value, and so is an array. */
function fieldsOf(value: Json, path: readonly string[]): Fields {
  const entries = isObject(value) ? Object.entries(value as { readonly [key: string]: Json }) : [];
  if (entries.length === 0) return new Map([[JSON.stringify(path), { path, value }]]);
  return new Map(entries.flatMap(([key, inner]) => [...fieldsOf(inner, [...path, key])]));
}
