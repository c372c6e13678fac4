// Picoschema, Dotprompt's short form of JSON Schema.
import type { JsonSchema } from '../models/model.ts';
import { invalidPrompt, type Place } from './invalid-prompt.ts';

/** A schema of a prompt file as JSON Schema, which it may already be. */
export async function readSchema(schema: unknown, place: Place): Promise<JsonSchema | undefined> {
  if (schema === undefined || schema === null) return undefined;
  const { picoschema } = await import('dotprompt');
  try {
    // Dotprompt leaves `required: undefined` and, for a whole schema `any`, a type that JSON Schema does not have.
    const { type, ...rest } = JSON.parse(JSON.stringify(await picoschema(schema)));
    return type === 'any' || type === undefined ? rest : { type, ...rest };
  } catch (error) {
    throw invalidPrompt(place, `The schema cannot be read: ${(error as Error).message}`, error);
  }
}
