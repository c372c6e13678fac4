// Structured output: parses the final reply as JSON and checks it against the schema.
import { CountersignError, messageOf, ProviderError } from '../core/errors.ts';
import { type Message, textOf } from '../core/message.ts';
import type { State } from '../core/state.ts';
import type { Schema } from './tool/schema.ts';

/** Returns null until the run has a final reply. An error carries `messages` to continue from. */
export async function readOutput(
  state: State,
  schema: Schema | undefined,
  messages: () => readonly Message[],
): Promise<any> {
  const { last } = state.history;
  const finished = !state.turn && !state.ended && last?.role === 'model' && state.reply?.finishReason === 'stop';
  if (!schema || !finished) return null;
  const text = textOf(last.content);
  const parsed = parse(text);
  const checked = 'problem' in parsed ? misfit(parsed.problem) : await check(schema, parsed.value);
  if (checked.ok) return checked.value;
  throw new ProviderError(
    'invalid-output',
    { messages: messages(), problems: checked.problems, text: text.slice(0, 500) },
    `The final reply does not fit the output schema: ${checked.problems.join('; ')}.`,
    { retryable: true, cause: checked.cause },
  );
}

/** A schema that throws, for example in a lookup, must not lose the messages. */
async function check(schema: Schema, value: unknown): Promise<Checked> {
  try {
    return await schema.validate(value);
  } catch (cause) {
    if (cause instanceof CountersignError) throw cause;
    return misfit(`it could not be checked, as the schema threw: ${messageOf(cause)}`, cause);
  }
}

type Checked =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: readonly string[]; readonly cause?: unknown };

const misfit = (problem: string, cause?: unknown): Checked => ({ ok: false, problems: [problem], cause });

/** Some models wrap JSON in a fence although they were asked for JSON alone. */
const FENCED = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/;

function parse(text: string): { readonly value: unknown } | { readonly problem: string } {
  const body = FENCED.exec(text)?.[1] ?? text;
  try {
    return { value: JSON.parse(body) };
  } catch (error) {
    return { problem: `it is not JSON (${(error as Error).message})` };
  }
}
