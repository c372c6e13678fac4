// The stand-in model: needs no key and works with any tools. It picks tools by words and fills their inputs by schema.
import { setTimeout as delay } from 'node:timers/promises';
import type { Message } from '../../core/messages/message.ts';
import { checkOptions, type OptionTable } from '../../core/options.ts';
import type { Model, ModelChunk, ModelReply, ModelRequest } from '../../models/model.ts';
import { type ChosenCall, chooseCalls, forceCall } from './choose-calls.ts';
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
 * message, fills their inputs from the message and the JSON Schema, and reports the results. Every text but structured output
 * begins with `Stand-in model:`. It reads only the conversation, so the same conversation gets the same reply in every process.
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
        toolRequest: { name: tool, ref: `stand-in-${request.messages.length}-${index}`, input },
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
  const said = textOf(messages[last]).slice(0, MOST_CHARACTERS);
  const report = reportOf(messages.slice(last + 1));
  const calls = report !== undefined || toolChoice === 'none' ? [] : callsFor(said, tools, toolChoice);
  if (calls.length > 0) return { text: `${STAND_IN} I call ${calls.map(({ tool }) => tool).join(', ')}.`, calls };
  if (outputSchema) return { text: JSON.stringify(fillSchema(outputSchema, messageValues(said))), calls };
  return { text: report ?? helpWith(tools), calls };
}

function callsFor(
  said: string,
  tools: ModelRequest['tools'],
  toolChoice: ModelRequest['toolChoice'],
): readonly ChosenCall[] {
  if (typeof toolChoice === 'object')
    return forceCall(
      said,
      tools.filter(({ name }) => name === toolChoice.tool),
    );
  return toolChoice === 'required' ? forceCall(said, tools) : chooseCalls(said, tools);
}

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
