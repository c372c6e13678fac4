// One interface for schemas of any vendor: zod and other Standard Schemas, and plain JSON Schema.
import { Validator } from '@cfworker/json-schema';
import { UsageError } from '../../core/errors.ts';
import { isObject, toJson } from '../../core/json.ts';
import type { JsonSchema } from '../../models/model.ts';

/** The part of the Standard Schema interface that we use; zod, valibot, arktype and others have it. */
export type StandardSchema<Input = any, Output = any> = {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
};

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: ReadonlyArray<{ readonly message: string; readonly path?: ReadonlyArray<unknown> | undefined }>;
    };

/** Any schema: a Standard Schema, such as zod's, or JSON Schema. */
export type SchemaInput = StandardSchema | JsonSchema;

/** The type that a schema accepts. */
export type InferInput<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly input: infer Input }
    ? Input
    : any
  : any;

/** The type that a schema returns. */
export type InferOutput<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly output: infer Output }
    ? Output
    : any
  : any;

export type Validation =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: readonly string[]; readonly issues: readonly Issue[] };

/** One misfit; `path` leads to it from the value. */
export type Issue = { readonly path: readonly string[]; readonly message: string };

export type Schema = {
  /** The JSON Schema that models get. */
  readonly json: () => JsonSchema;
  /** Synchronous unless the schema itself is not, or is of zod 3. */
  readonly validate: (value: unknown) => Validation | Promise<Validation>;
  /** The JSON Schema of what `validate` returns; undefined if it is not known, as where it transforms. */
  readonly returns?: () => JsonSchema | undefined;
};

export const ANYTHING: Schema = { json: () => ({}), validate: (value) => ({ ok: true, value }) };

/** Wraps a schema. `json` is the JSON Schema for models, for schemas that cannot produce it. */
export function asSchema(schema: SchemaInput, where: string, json?: JsonSchema): Schema {
  if (isStandard(schema)) return standardSchema(schema, where, json);
  if (!isObject(schema))
    throw new UsageError('unusable-schema', { where }, `${where} is ${String(schema)}, which is not a schema.`);
  const problem = holdsStandard(schema, new Set()) ? SHAPE : silentSchema(schema);
  if (problem === undefined) return jsonSchema(schema, where);
  throw new UsageError('unusable-schema', { where }, `${where} would check nothing: ${problem}.`);
}

const SHAPE = 'there are schemas in it that are not JSON Schema. Make one of them, as with z.object({ … })';

function holdsStandard(value: unknown, seen: Set<unknown>): boolean {
  if (typeof value !== 'object' || value === null || seen.has(value)) return false;
  seen.add(value);
  return Object.values(value).some((inner) => isStandard(inner) || holdsStandard(inner, seen));
}

/** Why it cannot be meant as JSON Schema: validators ignore unknown keywords, so it could accept everything. */
function silentSchema(schema: { readonly [key: string]: unknown }): string | undefined {
  const json = toJson(schema);
  if (!json.ok) return `JSON Schema is JSON, and this is not: ${json.problem}`;
  const keys = Object.keys(schema);
  if (keys.length === 0 || keys.some((key) => isKeyword(key, schema[key]))) return undefined;
  return `no JSON Schema keyword found among ${keys.join(', ')}. Properties go into { type: 'object', properties }`;
}

/** A plain keyword with an object as its value is a property that has the same name. */
function isKeyword(key: string, value: unknown): boolean {
  return WITH_SCHEMAS.has(key) || (PLAIN.has(key) && !isObject(value));
}

const words = (list: string): ReadonlySet<string> => new Set(list.trim().split(/\s+/));

const WITH_SCHEMAS = words(`
  $defs definitions $vocabulary allOf anyOf oneOf not if then else dependentSchemas dependentRequired dependencies
  properties patternProperties additionalProperties unevaluatedProperties propertyNames items prefixItems additionalItems
  unevaluatedItems contains contentSchema const default example discriminator
`);

const PLAIN = words(`
  $schema $id id $ref $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor $comment type enum required
  minProperties maxProperties minContains maxContains minItems maxItems uniqueItems minimum maximum exclusiveMinimum
  exclusiveMaximum multipleOf minLength maxLength pattern format contentEncoding contentMediaType title description
  examples deprecated readOnly writeOnly nullable
`);

function isStandard(schema: unknown): schema is StandardSchema {
  // arktype's schemas are functions.
  return (typeof schema === 'object' || typeof schema === 'function') && schema !== null && '~standard' in schema;
}

function standardSchema(schema: StandardSchema, where: string, json: JsonSchema | undefined): Schema {
  const standard = schema['~standard'];
  let known = json;
  return {
    json: () => {
      known ??= toJsonSchema(schema, where);
      return known;
    },
    returns: () => returnedBy(schema),
    validate: (value) => {
      const result = zodResult(schema, value) ?? standard.validate(value);
      // A promise of another realm is not an instance of `Promise`; taken for a result, it would say that everything fits.
      return 'then' in result ? Promise.resolve(result).then(validation) : validation(result);
    },
  };
}

type Parsed = { readonly value: unknown; readonly issues: readonly unknown[] };

type ZodSchema = {
  readonly _zod?: {
    readonly run?: (payload: Parsed, how: { readonly async: true }) => Parsed | Promise<Parsed>;
  };
  readonly safeParseAsync?: (
    value: unknown,
  ) => Promise<{ readonly data?: unknown; readonly error?: StandardResult<unknown> & { issues: object } }>;
};

/**
 * Validates with zod; undefined if `~standard` should do it, which also words the issues. zod's own `~standard` first tries
 * synchronously and drops the promises it meets: if one of them rejects, Node ends the process. Told from the start that it
 * may be asynchronous, zod 4 still answers synchronously where it can; zod 3 is always asynchronous.
 */
function zodResult(
  schema: ZodSchema & StandardSchema,
  value: unknown,
): StandardResult<unknown> | Promise<StandardResult<unknown>> | undefined {
  const { _zod, safeParseAsync } = schema;
  if (!safeParseAsync || schema['~standard'].vendor !== 'zod') return undefined;
  const whole = async (): Promise<StandardResult<unknown>> => {
    const { data, error } = await safeParseAsync.call(schema, value);
    return error ?? { value: data };
  };
  if (!_zod?.run) return whole();
  const parsed = _zod.run({ value, issues: [] }, { async: true });
  if (!('then' in parsed)) return parsed.issues.length === 0 ? { value: parsed.value } : undefined;
  return parsed.then(({ value: made, issues }) => (issues.length === 0 ? { value: made } : whole()));
}

function validation(result: StandardResult<unknown>): Validation {
  if (!result.issues) return { ok: true, value: result.value };
  return misfit(
    result.issues.map(({ path = [], message }) => ({
      path: path.map((key) => String(isObject(key) ? key.key : key)),
      message,
    })),
  );
}

function misfit(found: readonly Issue[]): Validation {
  const issues = found.map(({ path, message }) => ({ path, message: message.replace(/\.$/, '') }));
  const problems = issues.map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message));
  return { ok: false, problems, issues };
}

type Describe = (options: { target: string }) => JsonSchema;
type JsonSchemaSource = { readonly jsonSchema?: { readonly input?: Describe; readonly output?: Describe } };

function returnedBy(schema: StandardSchema): JsonSchema | undefined {
  try {
    return (schema['~standard'] as JsonSchemaSource).jsonSchema?.output?.({ target: 'draft-07' });
  } catch {
    // It transforms, or returns what JSON does not have.
    return undefined;
  }
}

function toJsonSchema(schema: StandardSchema, where: string): JsonSchema {
  const { vendor } = schema['~standard'];
  const source = (schema['~standard'] as JsonSchemaSource).jsonSchema;
  try {
    if (source?.input) {
      const { $schema: _dialect, ...rest } = source.input({ target: 'draft-07' });
      return rest;
    }
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(
      'unusable-schema',
      { where, vendor },
      `${where} cannot be described to a model: ${why}. Use types that JSON has, or pass the JSON Schema beside it.`,
      { cause },
    );
  }
  // An app may use zod 3, 4.0 or 4.1, which cannot give it.
  const update = vendor === 'zod' ? ' Use zod 4.2 or later, such as the `z` of countersign; or pass it' : ' Pass it';
  const message = `${where} is a ${vendor} schema that cannot give its JSON Schema.${update} beside the schema as inputJsonSchema or outputJsonSchema.`;
  throw new UsageError('unusable-schema', { where, vendor }, message);
}

function jsonSchema(schema: JsonSchema, where: string): Schema {
  let validator: Validator | undefined;
  return {
    json: () => schema,
    returns: () => schema,
    validate: (value) => {
      try {
        validator ??= new Validator(schema, '2020-12', false);
        const result = validator.validate(value);
        if (result.valid) return { ok: true, value };
        return misfit(
          result.errors.filter(isLeaf).map((unit) => ({ path: pointer(unit.instanceLocation), message: unit.error })),
        );
      } catch (cause) {
        throw new UsageError('unusable-schema', { where }, `${where} is not a usable JSON Schema: ${String(cause)}`, {
          cause,
        });
      }
    },
  };
}

const GATHERING: ReadonlySet<string> = new Set([
  'properties',
  'items',
  'prefixItems',
  '$ref',
  'additionalProperties',
  'allOf',
]);
const isLeaf = (unit: { keyword: string }, _index: number, all: ReadonlyArray<unknown>): boolean =>
  all.length === 1 || !GATHERING.has(unit.keyword);

function pointer(location: string): readonly string[] {
  return location
    .split('/')
    .slice(1)
    .map((key) => decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~'));
}
