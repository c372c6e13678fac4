// The stand-in model: needs no key and works with any tools. It picks tools by words and fills their inputs by schema.
import { setTimeout as delay } from 'node:timers/promises';
import type { Message } from '../../core/messages/message.ts';
import { checkOptions, type OptionTable } from '../../core/options.ts';
import type { Model, ModelChunk, ModelReply, ModelRequest } from '../../models/model.ts';
import { announce, labelOf } from './announce.ts';
import { type Chosen, type ChosenCall, chooseCalls, forceCall, isAskedFor } from './choose-calls.ts';
import { fillSchema } from './fill-schema.ts';
import { messageValues } from './message-values.ts';
import { helpWith, reportOf, STAND_IN } from './report.ts';

/** Options of `standInModel`. */
export type StandInOptions = {
  /** How long each word takes when the reply is streamed, in milliseconds; 0 by default. */
  readonly wordMs?: number;
};

const OPTIONS: OptionTable<StandInOptions> = {
  wordMs: { is: 'a number of milliseconds', fits: (value) => typeof value === 'number' && value >= 0 },
};

/**
 * Makes a model for trying agents without an API key. It is not a language model: it picks tools by the words of the last
 * message, fills their inputs from it, asks for required values that are missing, and reports the results. It makes values up only
 * where the program forces a call (`toolChoice`) or an `outputSchema`. Every text but structured output begins with `Stand-in model:`. It reads only the conversation, so the same conversation gets the same reply in every process.
 * @example
 * const ai = countersign({ model: standInModel(), store: memoryStore() });
 */
export function standInModel(options: StandInOptions = {}): Model {
  checkOptions('`standInModel`', options, OPTIONS);
  const { wordMs = 0 } = options;
  return {
    name: 'stand-in',
    async reply(request, emit) {
      const { text, calls } = replyTo(request);
      // A call has the same ref in its stream and its reply. A ref is used once in a conversation.
      const requested = calls.map(({ tool, input }, index) => ({
        toolRequest: { name: tool.name, ref: `stand-in-${request.messages.length}-${index}`, input },
      }));
      const content: ModelReply['content'] = [{ text }, ...requested];
      if (emit) await stream(content, emit, wordMs, request.signal);
      request.signal?.throwIfAborted();
      return { content, finishReason: calls.length > 0 ? 'tool-calls' : 'stop' };
    },
  };
}

type Reply = { readonly text: string; readonly calls: readonly ChosenCall[] };

function replyTo({ messages, tools, toolChoice, outputSchema }: ModelRequest): Reply {
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const report = reportOf(messages.slice(last + 1));
  const known = messages.map(textOf).join('\n').slice(0, MOST_CHARACTERS);
  if (report !== undefined || toolChoice === 'none') {
    if (outputSchema) return { text: structured(outputSchema, textOf(messages[last])), calls: [] };
    return { text: report ?? helpWith(tools), calls: [] };
  }
  const choose = (said: string) => chooseCalls(said, tools, known);
  const said = saidIn(messages, choose);
  const chosen =
    typeof toolChoice === 'object' || toolChoice === 'required' ? forced(said, tools, toolChoice, known) : choose(said);
  const { calls, lacking } = chosen;
  if (calls.length === 0 && outputSchema) return { text: structured(outputSchema, said), calls };
  if (calls.length + lacking.length === 0) return { text: helpWith(tools), calls };
  return { text: `${STAND_IN} ${announce(chosen)}`, calls };
}

const structured = (outputSchema: object, said: string): string =>
  JSON.stringify(fillSchema({ ...outputSchema }, messageValues(said)).value);

function forced(
  said: string,
  tools: ModelRequest['tools'],
  toolChoice: 'required' | { readonly tool: string },
  known: string,
): Chosen {
  const allowed = toolChoice === 'required' ? tools : tools.filter(({ name }) => name === toolChoice.tool);
  return { calls: forceCall(said, allowed, known), lacking: [] };
}

/** The last message of the user; behind a question for missing values, together with the message that lacked them. */
function saidIn(messages: readonly Message[], choose: (said: string) => Chosen): string {
  const turns = messages.filter(({ role }) => role === 'user' || role === 'model');
  const last = turns.findLastIndex(({ role }) => role === 'user');
  const said = textOf(turns[last]).slice(0, MOST_CHARACTERS);
  const [before, question] = turns.slice(Math.max(0, last - 2), last);
  const isAnswer = before?.role === 'user' && question?.role === 'model' && isQuestion(question);
  if (!isAnswer) return said;
  const { calls, lacking } = choose(said);
  if (calls.length > 0 || lacking.some(({ tool }) => isAskedFor(said, tool))) return said;
  const asked = saidIn(turns.slice(0, last - 1), choose);
  const missing = choose(asked).lacking.flatMap((call) => call.missing);
  const [only, ...others] = missing;
  if (!only) return said;
  const label = labelOf(only.name);
  const isNamed = others.length > 0 || said.toLowerCase().includes(label);
  return `${asked}, ${isNamed ? said : `${label} ${said}`}`.slice(0, MOST_CHARACTERS);
}

/** The stand-in asked for values, and called nothing. */
const isQuestion = (message: Message): boolean =>
  textOf(message).startsWith(`${STAND_IN} To `) && !message.content.some((part) => 'toolRequest' in part);

/** The rest of a long message has no effect. */
const MOST_CHARACTERS = 2_000;

function textOf(message: Message | undefined): string {
  const texts = (message?.content ?? []).flatMap((part) => ('text' in part ? [part.text] : []));
  return texts.join(' ').trim();
}

async function stream(
  content: ModelReply['content'],
  emit: (chunk: ModelChunk) => void,
  wordMs: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const part of content) {
    if ('toolRequest' in part) {
      const { name, ref = '', input } = part.toolRequest;
      for (const delta of JSON.stringify(input ?? {}).match(/.{1,24}/gs) ?? [])
        emit({ type: 'tool-input', ref, name, delta });
    } else if ('text' in part)
      for (const text of part.text.match(/\s*\S+/g) ?? []) {
        signal?.throwIfAborted();
        emit({ type: 'text', text });
        if (wordMs > 0) await delay(wordMs, undefined, signal ? { signal } : {});
      }
  }
}
