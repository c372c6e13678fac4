// Conditions on the input of a call, as data: stored with a request or a grant, they mean the same everywhere and later.
import { isObject, type Json, type JsonObject, sameJson } from '../json.ts';
import { hasOrigin, type OriginCondition, type Origins } from '../origin/origin.ts';

/** A condition on one field of an input. If it names several limits, all of them count. */
export type Condition = {
  /** The name of the field, or the path to it: `amount`, or `['order', 'total']`. Indexes of arrays are numbers in the text. */
  readonly field: string | readonly string[];
  readonly equals?: Json;
  readonly oneOf?: readonly Json[];
  readonly above?: number;
  readonly atLeast?: number;
  readonly below?: number;
  readonly atMost?: number;
  /** Where the value came from. A value that was not looked for, or could not be searched, may have any origin. */
  readonly origin?: OriginCondition;
};

/**
 * Whether the input meets all conditions. Undefined if that cannot be known, because a field is missing or is not a number where
 * a number is compared, or because its origin is not known: callers then choose the safer result.
 */
export function meets(conditions: readonly Condition[], input: Json, origins?: Origins): boolean | undefined {
  const verdicts = conditions.map((condition) => meetsOne(condition, input, origins));
  if (verdicts.includes(false)) return false;
  return verdicts.includes(undefined) ? undefined : true;
}

/** The value of the field; undefined if the input has none. Inherited properties do not count. */
export function fieldOf(input: Json, field: Condition['field']): Json | undefined {
  let value: Json | undefined = input;
  for (const key of pathOf(field)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as { readonly [key: string]: Json })[key];
  }
  return value;
}

export const pathOf = (field: Condition['field']): readonly string[] => (typeof field === 'string' ? [field] : field);
export const fieldText = (field: Condition['field']): string => pathOf(field).join('.');

function meetsOne(
  { field, origin, ...limits }: Condition,
  input: Json,
  origins: Origins | undefined,
): boolean | undefined {
  const value = fieldOf(input, field);
  if (value === undefined) return undefined;
  const { equals, oneOf, above, atLeast, below, atMost } = limits;
  if (equals !== undefined && !sameJson(value, equals)) return false;
  if (oneOf !== undefined && !oneOf.some((allowed) => sameJson(value, allowed))) return false;
  const isFrom = origin === undefined ? true : hasOrigin(origin, pathOf(field), origins);
  if (isFrom === false) return false;
  const isRange = [above, atLeast, below, atMost].some((limit) => limit !== undefined);
  if (!isRange) return isFrom;
  if (typeof value !== 'number') return undefined;
  if (above !== undefined && !(value > above)) return false;
  if (atLeast !== undefined && !(value >= atLeast)) return false;
  if (below !== undefined && !(value < below)) return false;
  return atMost === undefined || value <= atMost ? isFrom : false;
}

type Field = Condition['field'];

/** The first of these fields that no input of this schema has; undefined if every one may be there. */
export function unknownField(schema: unknown, fields: readonly Field[]): Field | undefined {
  return fields.find((field) => !mayHave(schema, pathOf(field)));
}

/** The fields of an input, for an error. */
export function fieldNames(schema: unknown): readonly string[] {
  return isObject(schema) && isObject(schema.properties) ? Object.keys(schema.properties) : [];
}

function mayHave(schema: unknown, [key, ...rest]: readonly string[]): boolean {
  if (key === undefined || !isObject(schema) || !listsItsFields(schema)) return true;
  return Object.hasOwn(schema.properties, key) && mayHave(schema.properties[key], rest);
}

/** An object with its properties side by side, and no others. Other schemas may accept any field. */
function listsItsFields(schema: {
  readonly [key: string]: unknown;
}): schema is { readonly properties: JsonObject; readonly [key: string]: unknown } {
  const { properties, additionalProperties = false } = schema;
  return isObject(properties) && additionalProperties === false && !OPEN.some((keyword) => keyword in schema);
}

const OPEN = [
  '$ref',
  'allOf',
  'anyOf',
  'oneOf',
  'if',
  'dependentSchemas',
  'patternProperties',
  'unevaluatedProperties',
];
