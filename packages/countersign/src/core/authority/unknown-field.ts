// Whether the inputs of a tool can have the field that a condition names.
import { isObject, type JsonObject } from '../json.ts';
import { type Condition, pathOf } from './condition.ts';

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
