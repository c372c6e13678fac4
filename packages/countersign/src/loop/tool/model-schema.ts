// The schema of a tool as the model sees it: without what only people read, and with the reason that the tool asks for.
import { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { HINT } from '../../core/request/money.ts';
import type { JsonSchema } from '../../models/model.ts';
import type { Schema } from './schema.ts';

/** The field in which a model says why it calls a tool that has `reason: true`. */
export const REASON = 'reason';

const REASON_SCHEMA = {
  type: 'string',
  description: 'Why you make this call, in one or two sentences. The person who decides about it reads this.',
};

/** Providers accept only objects. */
export function modelSchema(json: JsonSchema, asksReason: boolean): JsonSchema {
  const plain = JSON.stringify(json).includes(`"${HINT}"`) ? (withoutHints(json) as JsonSchema) : json;
  const schema = Object.keys(plain).length === 0 ? { type: 'object' } : plain;
  if (!asksReason) return schema;
  const required = Array.isArray(schema.required) ? schema.required : [];
  const properties = { ...(schema.properties as object), [REASON]: REASON_SCHEMA };
  return { ...schema, properties, required: [...required, REASON] };
}

/** Keywords whose keys are names. */
const MAPS: ReadonlySet<string> = new Set('properties patternProperties $defs definitions dependentSchemas'.split(' '));
/** Keywords with values of the tool. */
const VALUES: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'example', 'examples']);

function withoutHints(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutHints);
  if (!isObject(schema)) return schema;
  const kept = Object.entries(schema).filter(([keyword]) => keyword !== HINT);
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, inKeyword(keyword, value)]));
}

function inKeyword(keyword: string, value: unknown): unknown {
  if (VALUES.has(keyword)) return value;
  if (!MAPS.has(keyword) || !isObject(value)) return withoutHints(value);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutHints(inner)]));
}

/** The reason is the model's word: neither the schema nor the body of the tool gets it. */
export function withoutReason(tool: string, input: Schema): Schema {
  checkReason(tool, input.json());
  return {
    json: input.json,
    validate: (value) => {
      if (!isObject(value) || !Object.hasOwn(value, REASON)) return input.validate(value);
      const { [REASON]: _reason, ...rest } = value;
      return input.validate(rest);
    },
  };
}

function checkReason(tool: string, schema: JsonSchema): void {
  const { type, properties } = schema;
  const message =
    type !== undefined && type !== 'object'
      ? `The tool ${tool} has \`reason\`, so its inputSchema must be an object.`
      : isObject(properties) && Object.hasOwn(properties, REASON)
        ? `The inputSchema of the tool ${tool} has a field ${REASON} already. Rename it, or remove \`reason: true\`.`
        : undefined;
  if (message !== undefined) throw new UsageError('invalid-options', { tool }, message);
}

/** What the model says why it calls the tool. Longer reasons are shortened. */
export function reasonIn(input: unknown): string | undefined {
  const reason = isObject(input) ? input[REASON] : undefined;
  if (typeof reason !== 'string' || reason.trim() === '') return undefined;
  return reason.length > LONGEST_REASON ? `${reason.slice(0, LONGEST_REASON)}…`.toWellFormed() : reason;
}

const LONGEST_REASON = 2_000;
