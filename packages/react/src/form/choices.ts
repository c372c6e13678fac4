// Whether the choices that a question offers are answers to it.
import { draftOf } from './draft.ts';
import { fieldOf } from './field.ts';

/** True if each of them fits the schema of the answer; without a schema everything does. */
export function areAnswers(choices: readonly unknown[], schema: { readonly [key: string]: unknown } | null): boolean {
  if (schema === null) return true;
  const field = fieldOf(schema);
  return field.is === 'json' || choices.every((choice) => draftOf(field, choice).is !== 'json');
}
