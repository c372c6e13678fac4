// Binds a call to the input that its card showed, as the tool's schema had parsed it.

import { copyOf, type Json, sameJson, toJson } from '../../core/json.ts';
import type { Bound, EditBound } from '../../core/request/request.ts';
import type { Call } from '../../core/run/call.ts';
import type { ToolDefinition } from '../tool/definition.ts';
import type { Validation } from '../tool/schema.ts';

export type ValidInput = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly text: string };

/** The input for the body. For an approved call it is exactly the input that the card showed. A promise only if the schema gives one. */
export function validInput(tool: ToolDefinition, call: Call): ValidInput | Promise<ValidInput> {
  const invalid = call.metadata?.invalidInput;
  if (invalid !== undefined)
    return {
      ok: false,
      text: `The input of ${call.name} could not be read: ${String(invalid)}. Send it again as JSON.`,
    };
  const { runsWith = call.input } = call;
  const reading = read(tool, runsWith);
  return reading instanceof Promise ? reading.then((checked) => judged(call, checked)) : judged(call, reading);
}

function judged(call: Call, checked: Validation): ValidInput {
  const { runsWith = call.input } = call;
  if (checked.ok && (call.runsWith === undefined || isMadeOf(checked.value, runsWith))) return checked;
  const problem = checked.ok ? 'it is parsed differently now' : checked.problems.join('; ');
  if (checked.ok || !sameJson(runsWith, call.input))
    return { ok: false, text: `The schema of ${call.name} no longer accepts the approved input: ${problem}.` };
  return {
    ok: false,
    text: `The input of ${call.name} does not fit its schema: ${problem}. Correct it and call again.`,
  };
}

/**
 * The input as the schema parsed it, for example with defaults; empty if that is the input itself. A schema that rejects its
 * own output, for example because it turns a string into a number, parses the input again when the call runs.
 */
export function runsWithOf(tool: ToolDefinition, { input }: Call, value: unknown): Bound | Promise<Bound> {
  if (sameJson(value, input)) return UNBOUND;
  const made = toJson(value);
  if (!made.ok) return { readAnew: true };
  return sameJson(made.value, input) ? UNBOUND : readAgain(tool, made.value);
}

async function readAgain(tool: ToolDefinition, made: Json): Promise<Bound> {
  try {
    const again = await read(tool, made);
    if (again.ok && isMadeOf(again.value, made)) return { runsWith: made };
  } catch {
    // A schema that throws at its own output rejects it.
  }
  return { readAnew: true };
}

/** The input that an edit binds its call to; undefined if the schema must parse the edit again. */
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

/** The input that the call is bound to so far. */
export function boundSoFar({ runsWith }: Call): Bound {
  return runsWith === undefined ? UNBOUND : { runsWith };
}

const UNBOUND: Bound = {};

/** The input that a request about a started call binds it to: the approved one, or the one that the body got. */
export async function boundTo(tool: ToolDefinition, call: Call, given: unknown): Promise<Bound> {
  return call.runsWith === undefined ? runsWithOf(tool, call, given) : { runsWith: call.runsWith };
}

/** Parses a copy each time, so that neither the gate nor the body can change the record. */
function read(tool: ToolDefinition, input: Json): ReturnType<ToolDefinition['input']['validate']> {
  return tool.input.validate(copyOf(input));
}

function isMadeOf(value: unknown, made: Json): boolean {
  if (sameJson(value, made)) return true;
  const json = toJson(value);
  return json.ok && sameJson(json.value, made);
}
