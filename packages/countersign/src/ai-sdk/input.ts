// Whether an input that comes from outside is one that an AI SDK tool takes, and is exactly what it would run with.
import { asSchema, type Tool } from 'ai';
import { messageOf } from '../core/errors.ts';
import { sameJson, toJson } from '../core/json.ts';
import { asSchema as asOwnSchema } from '../loop/schema.ts';
import type { JsonSchema } from '../models/model.ts';

/** What the tool runs with, or why it must not run. */
export type CheckedInput =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: readonly string[] };

/**
 * A schema may give types that JSON has not, such as a `Date`, but its
 * value must say the same as the input: a person was shown the input, and a transformation that was done before the
 * person was asked is not done twice.
 */
export async function checkInput(name: string, tool: Pick<Tool, 'inputSchema'>, input: unknown): Promise<CheckedInput> {
  const checked = await validate(name, tool, input);
  if (!checked.ok) return checked;
  const shown = toJson(checked.value);
  if (shown.ok && sameJson(shown.value, input)) return checked;
  return { ok: false, problems: ['the tool would run with another input than the one that was shown'] };
}

async function validate(name: string, tool: Pick<Tool, 'inputSchema'>, input: unknown): Promise<CheckedInput> {
  try {
    const schema = asSchema(tool.inputSchema);
    if (!schema.validate) {
      const json = (await schema.jsonSchema) as JsonSchema;
      return await asOwnSchema(json, `the inputSchema of tool ${name}`).validate(input);
    }
    const result = await schema.validate(input);
    return result.success ? { ok: true, value: result.value } : { ok: false, problems: [messageOf(result.error)] };
  } catch (error) {
    // A schema that throws has not said that the input fits.
    return { ok: false, problems: [messageOf(error)] };
  }
}
