// Structured output: parses the final reply as JSON and checks it against the schema.
import { CountersignError, messageOf, ProviderError } from '../core/errors.ts';
import { type Message, textOf } from '../core/messages/message.ts';
import type { State } from '../core/run/state.ts';
import type { Schema } from './tool/schema.ts';

/** Some models wrap JSON in a fence although they were asked for JSON alone. */
const FENCED = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/;

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
  const invalid = (problems: readonly string[], cause?: unknown) => {
    const message = `The final reply does not fit the output schema: ${problems.join('; ')}.`;
    const details = { messages: messages(), problems, text: text.slice(0, 500) };
    return new ProviderError('invalid-output', details, message, { retryable: true, cause });
  };
  try {
    const checked = await schema.validate(JSON.parse(FENCED.exec(text)?.[1] ?? text));
    if (checked.ok) return checked.value;
    throw invalid(checked.problems);
  } catch (error) {
    if (error instanceof CountersignError) throw error;
    if (error instanceof SyntaxError) throw invalid([`it is not JSON (${error.message})`]);
    throw invalid([`it could not be checked, as the schema threw: ${messageOf(error)}`], error);
  }
}
