// Validates inputs and outputs that come from outside against the schemas of an AI SDK tool.
import { asSchema, type Tool } from 'ai';
import { messageOf } from '../../core/errors.ts';
import { sameJson, toJson } from '../../core/json.ts';
import { asSchema as asOwnSchema } from '../../loop/tool/schema.ts';
import type { JsonSchema } from '../../models/model.ts';

/** The input that the tool runs with, or why it must not run. */
export type CheckedInput =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: readonly string[] };

/**
 * A schema may return types that JSON does not have, such as a `Date`, but as JSON its value must equal the input. The
 * person was shown the input, and a transformation that was done before must not be applied twice.
 */
export async function checkInput(name: string, tool: Pick<Tool, 'inputSchema'>, input: unknown): Promise<CheckedInput> {
  const checked = await validate(tool.inputSchema, `the inputSchema of tool ${name}`, input);
  if (!checked.ok) return checked;
  const shown = toJson(checked.value);
  if (shown.ok && sameJson(shown.value, input)) return checked;
  return { ok: false, problems: ['the tool would run with a different input than the one shown'] };
}

/** Outputs are validated but not transformed. */
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
    // A schema that throws has not accepted the input.
    return { ok: false, problems: [messageOf(error)] };
  }
}
