// The demo model: needs no key, follows a script, streams word by word, and says that it is not a real model.
import { setTimeout as delay } from 'node:timers/promises';
import type { Message, Model, ModelChunk } from 'countersign';
import { type FinishedCall, type Reply, replyTo, type Situation } from './script.ts';

export type DemoModelOptions = {
  /** How long each word takes, in milliseconds; 25 by default. */
  readonly wordMs?: number;
};

/** A model for trying things out. The same conversation always gets the same reply. */
export function demoModel({ wordMs = 25 }: DemoModelOptions = {}): Model {
  return {
    name: 'demo',
    async reply({ messages, tools, signal }, emit) {
      const situation = situationOf(messages, new Set(tools.map(({ name }) => name)));
      const reply = replyTo(situation);
      // The input that streams in and the call that follows are one, so they have one ref, used once in a conversation.
      const refOf = (index: number) => `demo-${messages.length}-${index}`;
      if (emit) await stream(reply, refOf, emit, wordMs, signal);
      signal?.throwIfAborted();
      return {
        content: [
          ...(reply.text === '' ? [] : [{ text: reply.text }]),
          ...reply.calls.map(({ tool, input }, index) => ({ toolRequest: { name: tool, ref: refOf(index), input } })),
        ],
        finishReason: reply.calls.length > 0 ? 'tool-calls' : 'stop',
      };
    },
  };
}

async function stream(
  reply: Reply,
  refOf: (index: number) => string,
  emit: (chunk: ModelChunk) => void,
  wordMs: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const text of reply.text.match(/\s*\S+/g) ?? []) {
    emit({ type: 'text', text });
    if (wordMs > 0) await delay(wordMs, undefined, signal ? { signal } : {});
  }
  for (const [index, { tool, input }] of reply.calls.entries())
    for (const delta of JSON.stringify(input).match(/.{1,24}/gs) ?? [])
      emit({ type: 'tool-input', ref: refOf(index), name: tool, delta });
}

/** The user's last message and the results of the calls since. */
function situationOf(messages: readonly Message[], tools: ReadonlySet<string>): Situation {
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const said = (messages[last]?.content ?? []).flatMap((part) => ('text' in part ? [part.text] : [])).join(' ');
  const since = messages.slice(last + 1).flatMap(({ content }) => content);
  const calls = since.flatMap((part) => ('toolRequest' in part ? [part.toolRequest] : []));
  const finished = since.flatMap((part): readonly FinishedCall[] => {
    if (!('toolResponse' in part)) return [];
    const { name: tool, ref, output } = part.toolResponse;
    const input = calls.find((call) => call.ref === ref)?.input;
    return [{ tool, input: (input ?? {}) as FinishedCall['input'], output }];
  });
  return { said, finished, tools };
}
