// Checks that an object means something as JSON Schema: validators ignore unknown keywords, so it could accept everything.
import { isObject, toJson } from '../../core/json.ts';

/** Returns why it cannot be meant as JSON Schema; undefined if it can. */
export function silentSchema(schema: { readonly [key: string]: unknown }): string | undefined {
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
