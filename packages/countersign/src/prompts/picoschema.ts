// Picoschema, Dotprompt's short form of JSON Schema, with errors that know their place.
import type { JsonSchema } from '../models/model.ts';
import type { FrontMatter, Path } from './front-matter.ts';
import { invalidPrompt } from './invalid-prompt.ts';

const SCALARS: readonly unknown[] = ['string', 'number', 'integer', 'boolean', 'null', 'any'];

/** The schema at `path` as JSON Schema, which it may already be. */
export async function readSchema(matter: FrontMatter, path: Path): Promise<JsonSchema | undefined> {
  const schema = matter.get(path);
  if (schema === undefined) return undefined;
  if (!isJsonSchema(schema)) checkPicoschema(matter, path, schema);
  const { picoschema } = await import('dotprompt');
  try {
    // Dotprompt leaves `required: undefined` and, for a whole schema `any`, a type that JSON Schema does not have.
    const { type, ...rest } = JSON.parse(JSON.stringify(await picoschema(schema)));
    return type === 'any' || type === undefined ? rest : { type, ...rest };
  } catch (error) {
    throw invalidPrompt(matter.placeOf(path), `The schema cannot be read: ${(error as Error).message}`, error);
  }
}

/** By Dotprompt's rule: it has a JSON Schema `type`, or `properties`. */
function isJsonSchema(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  const { type, properties } = schema as Record<string, unknown>;
  return [...SCALARS, 'object', 'array'].includes(type) || typeof properties === 'object';
}

/** Dotprompt takes lists and empty values for objects, and does not say where a type is wrong. */
function checkPicoschema(matter: FrontMatter, path: Path, schema: unknown): void {
  const refuse = (problem: string) => invalidPrompt(matter.placeOf(path), `The schema is broken: ${problem}`);
  if (typeof schema === 'string') {
    const type = schema.split(',', 1)[0];
    if (SCALARS.includes(type)) return;
    throw refuse(`unknown type ${type}. Use ${SCALARS.join(', ')}, or nested keys.`);
  }
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    throw refuse(`${path.at(-1)} needs a type, such as \`string\`, or nested keys.`);
  for (const key of Object.keys(schema)) checkProperty(matter, [...path, key], key);
}

function checkProperty(matter: FrontMatter, path: Path, key: string): void {
  const value = matter.get(path);
  const kind = key === '(*)' ? undefined : /\(([^,)]*)/.exec(key)?.[1]?.trim();
  if (kind === 'enum') {
    if (Array.isArray(value)) return;
    throw invalidPrompt(matter.placeOf(path), `The schema is broken: ${key} needs a list of values.`);
  }
  if (kind !== undefined && kind !== 'array' && kind !== 'object')
    throw invalidPrompt(
      matter.placeOf(path),
      `The schema is broken: in ${key}, the word in parentheses must be array, object or enum.`,
    );
  checkPicoschema(matter, path, value);
}
