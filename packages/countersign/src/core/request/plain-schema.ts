// The keywords of a JSON Schema that describe one value, without its references and unions.
import { isObject, type Json } from '../json.ts';

export type Schema = { readonly [key: string]: unknown };

const MOST_HOPS = 20;

/** Follows references inside the document, and takes the branch that describes this value. */
export function plainSchema(given: unknown, root: Schema, value?: Json, hops = 0): Schema {
  if (!isObject(given) || hops > MOST_HOPS) return {};
  const { $ref, allOf, anyOf, oneOf, ...own } = given;
  const into = (schema: unknown): Schema => plainSchema(schema, root, value, hops + 1);
  if (typeof $ref === 'string') return merged(into(targetOf($ref, root)), own);
  if (Array.isArray(allOf)) return allOf.map(into).reduce(merged, own);
  const branches = [anyOf, oneOf].find(Array.isArray) as readonly unknown[] | undefined;
  if (!branches) return given;
  const fitting = branches.map(into).filter((branch) => mayDescribe(branch, value));
  return fitting.length === 1 ? merged(fitting[0] ?? {}, own) : own;
}

const merged = (first: Schema, second: Schema): Schema => ({
  ...first,
  ...second,
  ...(isObject(first.properties) &&
    isObject(second.properties) && {
      properties: { ...first.properties, ...second.properties },
    }),
});

function targetOf(reference: string, root: Schema): unknown {
  if (reference === '#') return root;
  if (!reference.startsWith('#/')) return undefined;
  let place: unknown = root;
  for (const step of reference.slice(2).split('/')) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    place = isObject(place) && Object.hasOwn(place, key) ? place[key] : undefined;
  }
  return place;
}

/** By its type, and the constants of its properties. Of no value: any but null. */
function mayDescribe({ type, properties }: Schema, value: Json | undefined): boolean {
  if (value === undefined || typeof type !== 'string') return type !== 'null';
  if (type === 'null' || value === null) return type === 'null' && value === null;
  const own = Array.isArray(value) ? 'array' : typeof value;
  if (own !== (type === 'integer' ? 'number' : type)) return false;
  if (own !== 'object' || !isObject(properties)) return true;
  return Object.entries(properties).every(
    ([name, property]) =>
      !isObject(property) ||
      !('const' in property) ||
      (Object.hasOwn(value as object, name) && (value as { readonly [name: string]: Json })[name] === property.const),
  );
}
