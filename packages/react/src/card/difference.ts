// What differs between two JSON values, place by place.

export type Path = readonly (string | number)[];

/** One difference; it is a change of one value, or a value that was added or removed. */
export type Difference = { readonly path: Path } & (
  | { readonly is: 'changed'; readonly before: unknown; readonly after: unknown }
  | { readonly is: 'added'; readonly after: unknown }
  | { readonly is: 'removed'; readonly before: unknown }
);

/** The differences in the order of the first value, then what the second adds. */
export function differencesOf(before: unknown, after: unknown, path: Path = []): readonly Difference[] {
  if (Object.is(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) return inLists(before, after, path);
  if (isRecord(before) && isRecord(after)) return inRecords(before, after, path);
  return [{ path, is: 'changed', before, after }];
}

/** Whether two JSON values are the same, in whatever order their names stand. */
export function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => isSame(item, b[index]));
  if (!isRecord(a) || !isRecord(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]));
}

function inRecords(before: Record<string, unknown>, after: Record<string, unknown>, path: Path): readonly Difference[] {
  const kept = Object.keys(before).flatMap((key): readonly Difference[] => {
    const place = [...path, key];
    if (!Object.hasOwn(after, key)) return [{ path: place, is: 'removed', before: before[key] }];
    return differencesOf(before[key], after[key], place);
  });
  const added = Object.keys(after).filter((key) => !Object.hasOwn(before, key));
  return [...kept, ...added.map((key) => ({ path: [...path, key], is: 'added' as const, after: after[key] }))];
}

/** What both have at their beginning and at their end is left out, so that one entry more is one difference. */
function inLists(before: readonly unknown[], after: readonly unknown[], path: Path): readonly Difference[] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && isSame(before[start], after[start])) start += 1;
  let end = 0;
  while (end < shorter - start && isSame(before.at(-1 - end), after.at(-1 - end))) end += 1;
  const old = before.slice(start, before.length - end);
  const fresh = after.slice(start, after.length - end);
  return Array.from({ length: Math.max(old.length, fresh.length) }).flatMap((_, offset): readonly Difference[] => {
    const place = [...path, start + offset];
    if (offset >= fresh.length) return [{ path: place, is: 'removed', before: old[offset] }];
    if (offset >= old.length) return [{ path: place, is: 'added', after: fresh[offset] }];
    return differencesOf(old[offset], fresh[offset], place);
  });
}

/** `items[2].name`; a name that is not a plain word is quoted. */
export function pathText(path: Path): string {
  return path
    .map((key, index) => {
      if (typeof key === 'number') return `[${key}]`;
      if (!/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(key)) return `[${JSON.stringify(key)}]`;
      return index === 0 ? key : `.${key}`;
    })
    .join('');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
