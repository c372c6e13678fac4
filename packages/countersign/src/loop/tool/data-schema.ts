// Schemas that are data: of callers, grants and MCP servers. Checking a value with one takes a limited number of steps.
import { isObject } from '../../core/json.ts';
import type { JsonSchema } from '../../models/model.ts';
import { type Checkable, fitsIn } from './limited-check.ts';
import { asSchema, type StandardSchema } from './schema.ts';

/** The most characters of JSON that a schema may have where it limits what runs. */
const LONGEST = 64_000;
/** How deep schemas may be nested. */
const DEEPEST = 64;

/**
 * Why a schema cannot limit what runs; undefined if it can. A schema that limits must be checked as a whole, so one with a
 * keyword that cannot be checked in limited steps is refused when it is given.
 */
export function dataSchemaProblem(schema: unknown): string | undefined {
  if (!isObject(schema)) return 'it is not a JSON Schema';
  const { problem } = readSchema(schema, 0, false);
  if (problem !== undefined) return problem;
  const { length } = JSON.stringify(schema);
  return length > LONGEST ? `it has ${length} characters of JSON, and the limit is ${LONGEST}` : undefined;
}

/**
 * Checks values as the owner of a described tool does, as far as limited steps allow. Its owner checks them again, so keywords
 * that cannot be checked are shown to people and models but not checked, and a required field with a default is optional.
 * A value that takes too many steps does not fit.
 */
export function describedSchema(json: JsonSchema, where: string): StandardSchema {
  // Throws if it would check nothing.
  asSchema(json, where);
  return checkedBy(json, () => readSchema(json, 0, true).schema);
}

/** The schema without what cannot be checked, which `limitedSchema` takes. It accepts all that the schema accepts, or more. */
export function checkablePart(json: JsonSchema): JsonSchema {
  const { schema } = readSchema(json, 0, true);
  return typeof schema === 'boolean' || dataSchemaProblem(schema) !== undefined ? {} : (schema as JsonSchema);
}

/** Checks values with a schema that is data. Undefined if it has keywords that cannot be checked in limited steps. */
export function limitedSchema(json: JsonSchema): StandardSchema | undefined {
  if (dataSchemaProblem(json) !== undefined) return undefined;
  return checkedBy(json, () => readSchema(json, 0, false).schema);
}

/** Whether the value fits, in limited steps, a schema that has no problem. */
export function fitsLimited(json: JsonSchema, value: unknown): boolean {
  return fitsIn(readSchema(json, 0, false).schema, value).length === 0;
}

function checkedBy(json: JsonSchema, read: () => Checkable): StandardSchema {
  let checkable: Checkable | undefined;
  const standard = {
    version: 1 as const,
    vendor: 'json-schema',
    validate: (value: unknown) => {
      checkable ??= read();
      const issues = fitsIn(checkable, value);
      return issues.length === 0 ? { value } : { issues };
    },
    jsonSchema: { input: () => json },
  };
  return { '~standard': standard };
}

/** `isExact`: it accepts the same values as the original. Otherwise it accepts more. */
type Read = { readonly schema: Checkable; readonly problem?: string | undefined; readonly isExact: boolean };

const unchecked = (problem: string): Read => ({ schema: true, problem, isExact: false });

/** Reads the keywords that can be checked. With `isDescribed`, required fields with a default are optional. */
function readSchema(given: unknown, depth: number, isDescribed: boolean): Read {
  if (typeof given === 'boolean') return { schema: given, isExact: true };
  if (!isObject(given)) return unchecked('a schema in it is not an object');
  if (depth > DEEPEST) return unchecked(`its schemas are nested deeper than ${DEEPEST} levels`);
  const schema: Record<string, unknown> = {};
  let problem: string | undefined;
  let isExact = true;
  const inner = (value: unknown): Read => {
    const read = readSchema(value, depth + 1, isDescribed);
    problem ??= read.problem;
    isExact &&= read.isExact;
    return read;
  };
  const leaveOut = (
    keyword: string,
    why = `must not use ${keyword}, because it cannot be checked in limited steps`,
  ) => {
    problem ??= why;
    isExact = false;
  };
  for (const [keyword, value] of Object.entries(modern(given))) {
    if (isUnchecked(keyword, value)) leaveOut(keyword);
    else if (ONE.has(keyword)) schema[keyword] = inner(value).schema;
    else if (Object.hasOwn(VALUES, keyword)) {
      if (VALUES[keyword]?.(value)) schema[keyword] = value;
      else leaveOut(keyword, `has a ${keyword} that is not valid`);
    } else if (MANY.has(keyword)) {
      if (Array.isArray(value)) schema[keyword] = value.map((one) => inner(one).schema);
      else leaveOut(keyword, `has ${keyword} that is not a list`);
    } else if (MAPS.has(keyword)) {
      if (isObject(value)) schema[keyword] = mapped(value, (one) => inner(one).schema);
      else leaveOut(keyword, `has ${keyword} that is not an object`);
    } else schema[keyword] = value;
  }
  if (isDescribed && Array.isArray(schema.required)) {
    const { length } = schema.required;
    schema.required = schema.required.filter((name) => !hasDefault(given, name));
    isExact &&= (schema.required as readonly unknown[]).length === length;
  }
  return { schema: isExact ? schema : widened(schema, given), problem, isExact };
}

/** Without what would refuse a value because a part of the schema accepts more than it should. */
function widened(schema: Record<string, unknown>, given: Record<string, unknown>): Checkable {
  const { not: _not, if: _if, then: _then, else: _else, maxContains: _most, oneOf, ...rest } = schema;
  if ('patternProperties' in given) delete rest.additionalProperties;
  const anyOf = Array.isArray(rest.anyOf) ? [{ anyOf: rest.anyOf }] : [];
  return Array.isArray(oneOf) ? { ...rest, anyOf: [{ anyOf: oneOf }], allOf: [...list(rest.allOf), ...anyOf] } : rest;
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function hasDefault({ properties }: Record<string, unknown>, name: string): boolean {
  const property = isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  return isObject(property) && Object.hasOwn(property, 'default');
}

/** With the keywords of draft 2020-12 for tuples and dependencies. */
function modern(given: Record<string, unknown>): Record<string, unknown> {
  const { items, additionalItems, dependencies, ...rest } = given;
  const tuple = Array.isArray(items)
    ? { prefixItems: items, ...(additionalItems !== undefined && { items: additionalItems }) }
    : items !== undefined && { items };
  if (!isObject(dependencies)) return { ...rest, ...tuple };
  const parts = Object.entries(dependencies);
  const required = parts.filter(([, part]) => Array.isArray(part));
  const schemas = parts.filter(([, part]) => !Array.isArray(part));
  return {
    ...rest,
    ...tuple,
    ...(required.length > 0 && { dependentRequired: Object.fromEntries(required) }),
    ...(schemas.length > 0 && { dependentSchemas: Object.fromEntries(schemas) }),
  };
}

function mapped(
  value: Record<string, unknown>,
  of: (one: unknown) => Checkable,
): { readonly [name: string]: Checkable } {
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, of(one)]));
}

const UNCHECKED: ReadonlySet<string> = new Set(
  '$ref $dynamicRef $recursiveRef pattern patternProperties unevaluatedProperties unevaluatedItems'.split(' '),
);
const UNCHECKED_FORMATS: ReadonlySet<unknown> = new Set(['regex', 'uri-template']);

function isUnchecked(keyword: string, value: unknown): boolean {
  if (keyword === 'uniqueItems') return value !== false;
  return UNCHECKED.has(keyword) || (keyword === 'format' && UNCHECKED_FORMATS.has(value));
}

const ONE: ReadonlySet<string> = new Set(
  'not if then else additionalProperties propertyNames contains items'.split(' '),
);
const MANY: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const MAPS: ReadonlySet<string> = new Set(['properties', 'dependentSchemas']);

const isCount = (value: unknown): boolean => typeof value === 'number' && value >= 0;
const isNumber = (value: unknown): boolean => typeof value === 'number';
const areNames = (value: unknown): boolean => Array.isArray(value) && value.every((name) => typeof name === 'string');
const TYPES: ReadonlySet<unknown> = new Set(['null', 'boolean', 'number', 'integer', 'string', 'array', 'object']);

const VALUES: Readonly<Record<string, (value: unknown) => boolean>> = {
  type: (value) => (Array.isArray(value) ? value.every((one) => TYPES.has(one)) : TYPES.has(value)),
  enum: Array.isArray,
  const: () => true,
  format: (value) => typeof value === 'string',
  required: areNames,
  dependentRequired: (value) => isObject(value) && Object.values(value).every(areNames),
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  multipleOf: (value) => typeof value === 'number' && value > 0,
  minLength: isCount,
  maxLength: isCount,
  minItems: isCount,
  maxItems: isCount,
  minContains: isCount,
  maxContains: isCount,
  minProperties: isCount,
  maxProperties: isCount,
};
