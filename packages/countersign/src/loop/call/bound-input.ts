// What the schema of a tool makes of an input. A person lets run what was made of it when they were asked.
import type { Call } from '../../core/call.ts';
import type { Bound, EditBound } from '../../core/event.ts';
import { copyOf, type Json, sameJson, toJson } from '../../core/json.ts';
import type { ToolDefinition } from '../tool/definition.ts';

export type ValidInput = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly text: string };

/** What the body gets: where a person let it run, exactly what they were shown. */
export async function validInput(tool: ToolDefinition, call: Call): Promise<ValidInput> {
  const invalid = call.metadata?.invalidInput;
  if (invalid !== undefined)
    return { ok: false, text: `The input of ${call.name} was not read: ${String(invalid)}. Send it again as JSON.` };
  const { runsWith = call.input } = call;
  const reading = read(tool, runsWith);
  const checked = reading instanceof Promise ? await reading : reading;
  if (checked.ok && (call.runsWith === undefined || isMadeOf(checked.value, runsWith))) return checked;
  const problem = checked.ok ? 'it makes something else of it now' : checked.problems.join('; ');
  if (checked.ok || !sameJson(runsWith, call.input))
    return { ok: false, text: `The schema of ${call.name} does not take what was approved any more: ${problem}.` };
  return {
    ok: false,
    text: `The input of ${call.name} does not fit its schema: ${problem}. Correct it and call again.`,
  };
}

/**
 * What the schema makes of the input, such as with defaults, for the card and the record; nothing where that is the
 * input itself. A schema that does not take what it made, such as a number made of a text, reads the input anew instead.
 */
export async function runsWithOf(tool: ToolDefinition, { input }: Call, value: unknown): Promise<Bound> {
  const made = toJson(value);
  if (!made.ok) return { readAnew: true };
  if (sameJson(made.value, input)) return {};
  try {
    const again = await read(tool, made.value);
    if (again.ok && isMadeOf(again.value, made.value)) return { runsWith: made.value };
  } catch {
    // To throw at what it made is not to take it, either.
  }
  return { readAnew: true };
}

/** What an edit binds its call to; undefined where the schema does not take what it makes, and reads the edit anew. */
export async function boundEdit(tool: ToolDefinition, call: Call, input: Json): Promise<EditBound | undefined> {
  try {
    const made = await read(tool, input);
    if (!made.ok) return undefined;
    const bound = await runsWithOf(tool, { ...call, input }, made.value);
    return bound.readAnew ? undefined : bound;
  } catch {
    return undefined;
  }
}

/** What a question about a call that has begun binds it to: what was approved, or what the body was given. */
export async function boundTo(tool: ToolDefinition, call: Call, given: unknown): Promise<Bound> {
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
