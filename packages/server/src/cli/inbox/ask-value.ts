// Asks for a value field by field, as its JSON Schema says, and validates it.
import { type JsonSchema, z } from 'countersign';
import { visibleLine } from '../print/visible-text.ts';
import type { Prompts } from './prompts.ts';

/** Returns the value, or undefined if the person goes back. `offered` are answers to choose from besides free text. */
export async function askValue(
  prompts: Prompts,
  label: string,
  schema: JsonSchema | null,
  current: unknown,
  offered: readonly string[] = [],
): Promise<{ readonly value: unknown } | undefined> {
  const field = fieldOf(schema);
  const message = visibleLine(label);
  if (field.type === 'object') return askFields(prompts, field.properties, current);
  const choices = field.type === 'choice' ? field.choices : offered;
  if (choices.length > 0) {
    const options = choices.map((value) => ({ value: { value }, label: visibleLine(choiceText(value)) }));
    const other = { value: { value: undefined }, label: 'Something else …' };
    const isOpen = field.type !== 'choice';
    const initial = options.find(({ value }) => value.value === current)?.value;
    const chosen = await prompts.select(() => message, isOpen ? [...options, other] : options, initial);
    if (!isOpen || chosen !== other.value) return chosen;
  }
  const typed = await prompts.text(message, initialText(current, field), (text) => {
    const read = readText(text, field);
    return 'problem' in read ? read.problem : undefined;
  });
  return typed === undefined ? undefined : (readText(typed, field) as { readonly value: unknown });
}

async function askFields(
  prompts: Prompts,
  properties: readonly Property[],
  current: unknown,
): Promise<{ readonly value: unknown } | undefined> {
  const value: Record<string, unknown> = { ...(current as object | undefined) };
  for (const { name, schema, isRequired, description } of properties) {
    const label = [name, isRequired ? '' : ' (optional)', description && `: ${description}`].join('');
    const answer = isRequired
      ? await askValue(prompts, label, schema, value[name])
      : await askOptional(prompts, label, schema, value[name]);
    if (!answer) return undefined;
    if (answer.value === undefined) delete value[name];
    else
      Object.defineProperty(value, name, { value: answer.value, enumerable: true, configurable: true, writable: true });
  }
  return { value };
}

/** Takes an empty text for “not given”. */
async function askOptional(prompts: Prompts, label: string, schema: JsonSchema, current: unknown) {
  const field = fieldOf(schema);
  if (field.type === 'object') return askFields(prompts, field.properties, current);
  const typed = await prompts.text(visibleLine(label), initialText(current, field), (text) => {
    const read = text === '' ? undefined : readText(text, field);
    return read && 'problem' in read ? read.problem : undefined;
  });
  if (typed === undefined) return undefined;
  return typed === '' ? { value: undefined } : (readText(typed, field) as { readonly value: unknown });
}

/** How one value is asked for. */
export type Field =
  | { readonly type: 'choice'; readonly choices: readonly unknown[] }
  | { readonly type: 'text' | 'number' | 'json' }
  | { readonly type: 'object'; readonly properties: readonly Property[] };

export type Property = {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
  readonly description: string;
};

export function fieldOf(schema: JsonSchema | null): Field {
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
      return objectField(schema);
    default:
      return { type: 'json' };
  }
}

function objectField(schema: JsonSchema): Field {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
  if (properties.length === 0) return { type: 'json' };
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  return {
    type: 'object',
    properties: properties.map(([name, inner]) => ({
      name,
      schema: inner,
      isRequired: required.includes(name),
      description: typeof inner.description === 'string' ? inner.description : '',
    })),
  };
}

export function readText(text: string, { type }: Field): { readonly value: unknown } | { readonly problem: string } {
  if (type === 'text') return { value: text };
  if (type === 'number')
    return text.trim() === '' || !Number.isFinite(Number(text))
      ? { problem: 'Enter a number, e.g. 90 or 99.5.' }
      : { value: Number(text) };
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { problem: `Not valid JSON: ${visibleLine((error as Error).message)}` };
  }
}

const choiceText = (value: unknown): string =>
  value === true ? 'Yes' : value === false ? 'No' : typeof value === 'string' ? value : JSON.stringify(value);

function initialText(value: unknown, { type }: Field): string {
  if (value === undefined) return '';
  return type === 'text' && typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns what does not fit the schema, as far as it can be known here; the decision is validated again when it is recorded. */
export function schemaProblems(value: unknown, schema: JsonSchema | null): readonly string[] {
  if (schema === null) return [];
  let result: {
    readonly error?: {
      readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
    };
  };
  try {
    result = z.fromJSONSchema(schema as never).safeParse(value) as never;
  } catch {
    // Some schemas cannot be converted.
    return [];
  }
  return (result.error?.issues ?? []).map(({ path, message }) =>
    path.length > 0 ? `${path.map(String).join('.')}: ${message}` : message,
  );
}
