// What the schema of a tool makes of an input. A person lets run what was made of it when they were asked.
import type { Call } from '../core/call.ts';
import { copyOf, type Json, sameJson, toJson } from '../core/json.ts';
import type { ToolDefinition } from './tool.ts';

export type ValidInput = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly text: string };

/** What the body gets. Where a person was shown what the schema makes of the input, exactly that. */
export async function validInput(tool: ToolDefinition, call: Call): Promise<ValidInput> {
  const invalid = call.metadata?.invalidInput;
  if (invalid !== undefined)
    return { ok: false, text: `The input of ${call.name} was not read: ${String(invalid)}. Send it again as JSON.` };
  const reading = read(tool, call.runsWith === undefined ? call.input : call.runsWith);
  const checked = reading instanceof Promise ? await reading : reading;
  if (checked.ok && (call.runsWith === undefined || isMadeOf(checked.value, call.runsWith))) return checked;
  const problem = checked.ok ? 'it makes something else of it now' : checked.problems.join('; ');
  if (call.runsWith !== undefined)
    return { ok: false, text: `The schema of ${call.name} does not take what was approved any more: ${problem}.` };
  return {
    ok: false,
    text: `The input of ${call.name} does not fit its schema: ${problem}. Correct it and call again.`,
  };
}

/**
 * What the schema makes of the input, such as with defaults, for the card and the record; nothing where that is the
 * input itself. A schema that does not take what it made, such as a number made of a text, is asked again instead.
 */
export async function runsWithOf(tool: ToolDefinition, { input }: Call, value: unknown): Promise<{ runsWith?: Json }> {
  const made = toJson(value);
  if (!made.ok || sameJson(made.value, input)) return {};
  try {
    const again = await read(tool, made.value);
    return again.ok && isMadeOf(again.value, made.value) ? { runsWith: made.value } : {};
  } catch {
    // To throw at what it made is not to take it, either.
    return {};
  }
}

/** What a question about a call that has begun binds it to: what was approved, or what the body was given. */
export async function boundTo(tool: ToolDefinition, call: Call, given: unknown): Promise<{ runsWith?: Json }> {
  return call.runsWith === undefined ? runsWithOf(tool, call, given) : { runsWith: call.runsWith };
}

/** A copy each time: neither the gate nor the body can change what is on record. */
function read(tool: ToolDefinition, input: Json): ReturnType<ToolDefinition['input']['validate']> {
  return tool.input.validate(copyOf(input));
}

function isMadeOf(value: unknown, made: Json): boolean {
  const json = toJson(value);
  return json.ok && sameJson(json.value, made);
}
