// The input of a tool call: text as a model sends it, an object as a provider wants it back.
import { isObject, type Json, toJson } from '../core/json.ts';

type CallInput = { readonly input: Json; readonly invalid?: string };

/** Parses the input that a model sent. Input that is not safe JSON stays a string, with the reason beside it. */
export function readInput(sent: unknown): CallInput {
  if (sent === undefined || (typeof sent === 'string' && sent.trim() === '')) return { input: {} };
  if (typeof sent !== 'string') return checked(sent, String(sent));
  try {
    return checked(JSON.parse(sent), sent);
  } catch (error) {
    return { input: sent, invalid: `It is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** An input as every provider accepts it in a prompt: an object, even where the model sent none. */
export function inputObject(input: unknown): { readonly [key: string]: unknown } {
  if (isObject(input)) return input;
  return input === undefined ? {} : { invalid: input };
}

function checked(value: unknown, text: string): CallInput {
  const json = toJson(value);
  return json.ok ? { input: json.value } : { input: text, invalid: `It is not usable: ${json.problem}` };
}
