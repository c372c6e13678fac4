// Whether an input that comes from outside is one that an AI SDK tool takes, and is exactly what it would run with; and
// whether an answer in place of its result fits.
import { asSchema, type Tool } from 'ai';
import { messageOf } from '../core/errors.ts';
import { sameJson, toJson } from '../core/json.ts';
import { asSchema as asOwnSchema } from '../loop/tool/schema.ts';
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
  const checked = await validate(tool.inputSchema, `the inputSchema of tool ${name}`, input);
  if (!checked.ok) return checked;
  const shown = toJson(checked.value);
  if (shown.ok && sameJson(shown.value, input)) return checked;
  return { ok: false, problems: ['the tool would run with another input than the one that was shown'] };
}

/** The AI SDK checks no outputs, and nothing is made of one. */
export async function checkOutput(
  name: string,
  { outputSchema }: { readonly outputSchema?: Tool['inputSchema'] | undefined },
  output: unknown,
): Promise<CheckedInput> {
  if (!outputSchema) return { ok: true, value: output };
  return validate(outputSchema, `the outputSchema of tool ${name}`, output);
}

async function validate(given: Tool['inputSchema'], where: string, value: unknown): Promise<CheckedInput> {
  try {
    const schema = asSchema(given);
    if (!schema.validate) {
      const json = (await schema.jsonSchema) as JsonSchema;
      return await asOwnSchema(json, where).validate(value);
    }
    const result = await schema.validate(value);
    return result.success ? { ok: true, value: result.value } : { ok: false, problems: [messageOf(result.error)] };
  } catch (error) {
    // A schema that throws has not said that the input fits.
    return { ok: false, problems: [messageOf(error)] };
  }
}
