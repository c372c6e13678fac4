// Asks for a value field by field, as its JSON Schema says, and validates it.
import { type JsonSchema, z } from 'countersign';
import { formOf, readForm } from 'countersign/request';
import { visibleLine } from '../../text/visible-text.ts';
import type { Prompts } from './prompts.ts';

type Asked = {
  readonly label: string;
  readonly schema: JsonSchema | null;
  readonly current: unknown;
  /** Answers to choose from besides free text. */
  readonly offered?: readonly string[];
  /** Whether the value may be left out. */
  readonly isOptional?: boolean;
};

/** Returns the value, undefined in it if it was left out, or undefined if the person goes back. */
export async function askValue(
  prompts: Prompts,
  { label, schema, current, offered = [], isOptional = false }: Asked,
): Promise<{ readonly value: unknown } | undefined> {
  const field = fieldOf(schema);
  const message = visibleLine(label);
  if (field.type === 'object') return askFields(prompts, field, current);
  const choices = field.type === 'choice' ? field.choices : offered;
  if (choices.length > 0) {
    const options = choices.map((value) => ({ value: { value }, label: visibleLine(choiceText(value)) }));
    const none = { value: { value: undefined }, label: field.type === 'choice' ? 'Leave it out' : 'Something else …' };
    const given = options.find(({ value }) => value.value === current)?.value;
    const initial = given ?? (isOptional ? none.value : undefined);
    const isOpen = field.type !== 'choice' || isOptional;
    const chosen = await prompts.select(() => message, isOpen ? [...options, none] : options, initial);
    if (field.type === 'choice' || chosen !== none.value) return chosen;
  }
  const read = (text: string) => (isOptional && text === '' ? { value: undefined } : readText(text, field, schema));
  const typed = await prompts.text(message, initialText(current, field), (text) => {
    const result = read(text);
    return 'problem' in result ? result.problem : undefined;
  });
  return typed === undefined ? undefined : (read(typed) as { readonly value: unknown });
}

async function askFields(
  prompts: Prompts,
  { properties, required }: ObjectField,
  current: unknown,
): Promise<{ readonly value: unknown } | undefined> {
  const values = new Map<string, unknown>(Object.entries(current ?? {}));
  for (const [name, schema] of properties) {
    const isOptional = !(Array.isArray(required) && required.includes(name));
    const about = typeof schema.description === 'string' ? `: ${schema.description}` : '';
    const label = `${name}${isOptional ? ' (optional)' : ''}${about}`;
    const answer = await askValue(prompts, { label, schema, current: values.get(name), isOptional });
    if (!answer) return undefined;
    if (answer.value === undefined) values.delete(name);
    else values.set(name, answer.value);
  }
  return { value: Object.fromEntries(values) };
}

/** How one value is asked for. */
export type Field =
  | { readonly type: 'choice'; readonly choices: readonly unknown[] }
  | { readonly type: 'text' | 'number' | 'json' }
  | ObjectField;

type ObjectField = {
  readonly type: 'object';
  readonly properties: readonly (readonly [name: string, schema: JsonSchema])[];
  readonly required: unknown;
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
    case 'object': {
      const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
      return properties.length === 0 ? { type: 'json' } : { type: 'object', properties, required: schema.required };
    }
    default:
      return { type: 'json' };
  }
}

/** Reads texts and numbers as every other form does, and anything else as JSON. */
export function readText(
  text: string,
  { type }: Field,
  schema: JsonSchema | null = null,
): { readonly value: unknown } | { readonly problem: string } {
  const form = type === 'text' || type === 'number' ? formOf(schema) : undefined;
  if (form?.single) {
    const read = readForm(form, { value: text });
    return 'value' in read ? read : { problem: read.problems.map(({ message }) => message).join(' ') };
  }
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
  try {
    const { error } = z.fromJSONSchema(schema as never).safeParse(value);
    return (error?.issues ?? []).map(({ path, message }) =>
      [path.map(String).join('.'), message].filter(Boolean).join(': '),
    );
  } catch {
    // Some schemas cannot be converted.
    return [];
  }
}
