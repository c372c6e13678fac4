// Forms from JSON Schema: how a value is asked for, how what was typed is read, and whether it fits.
import { type JsonSchema, z } from 'countersign';

/** How one value is asked for. */
export type FieldKind =
  | { readonly type: 'choice'; readonly choices: readonly unknown[] }
  | { readonly type: 'text' }
  | { readonly type: 'number' }
  | { readonly type: 'fields'; readonly fields: readonly Field[] }
  | { readonly type: 'json' };

export type Field = {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
  readonly about: string;
};

export function fieldKind(schema: JsonSchema | null): FieldKind {
  if (schema === null) return { type: 'json' };
  if (Array.isArray(schema.enum)) return { type: 'choice', choices: schema.enum };
  if ('const' in schema) return { type: 'choice', choices: [schema.const] };
  const variants = [schema.anyOf, schema.oneOf].find(Array.isArray);
  if (variants?.every((variant) => typeof variant === 'object' && variant !== null && 'const' in variant))
    return { type: 'choice', choices: variants.map((variant) => variant.const) };
  switch (schema.type) {
    case 'boolean':
      return { type: 'choice', choices: [true, false] };
    case 'string':
      return { type: 'text' };
    case 'number':
    case 'integer':
      return { type: 'number' };
    case 'object':
      return fieldsOf(schema);
    default:
      return { type: 'json' };
  }
}

function fieldsOf(schema: JsonSchema): FieldKind {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
  if (properties.length === 0) return { type: 'json' };
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  return {
    type: 'fields',
    fields: properties.map(([name, inner]) => ({
      name,
      schema: inner,
      isRequired: required.includes(name),
      about: typeof inner.description === 'string' ? inner.description : '',
    })),
  };
}

/** What was typed, as a value; or what is wrong with it. */
export function readTyped(typed: string, kind: FieldKind): { readonly value: unknown } | { readonly problem: string } {
  switch (kind.type) {
    case 'text':
      return { value: typed };
    case 'number': {
      const number = Number(typed);
      return typed.trim() === '' || !Number.isFinite(number)
        ? { problem: 'A number, as in 90 or 99.5' }
        : { value: number };
    }
    case 'choice':
    case 'fields':
    case 'json':
      try {
        return { value: JSON.parse(typed) };
      } catch (error) {
        return { problem: `This is no JSON: ${(error as Error).message}` };
      }
  }
}

/** A value as it stands in a line to be changed. */
export const typedOf = (value: unknown, kind: FieldKind): string => {
  if (value === undefined) return '';
  return kind.type === 'text' && typeof value === 'string' ? value : JSON.stringify(value);
};

/** What does not fit, as far as it can be known here; whoever records the decision checks it again. */
export function misfits(value: unknown, schema: JsonSchema | null): readonly string[] {
  if (schema === null) return [];
  let result: {
    readonly error?: {
      readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
    };
  };
  try {
    result = z.fromJSONSchema(schema as never).safeParse(value) as never;
  } catch {
    // A schema that is not understood here is left to the one who records the decision.
    return [];
  }
  return (result.error?.issues ?? []).map(({ path, message }) =>
    path.length > 0 ? `${path.map(String).join('.')}: ${message}` : message,
  );
}
