// The demo model: needs no key, follows a script, streams word by word, and says that it is no real model.
import { setTimeout as delay } from 'node:timers/promises';
import type { Message, Model, ModelChunk, Part } from 'countersign';
import { type FinishedCall, type Reply, replyTo, type Situation } from './script.ts';

export type DemoModelOptions = {
  /** How long each word takes, in milliseconds; 25 unless given. */
  readonly wordMs?: number;
};

/** A model for trying things out. The same conversation always gets the same reply. */
export function demoModel({ wordMs = 25 }: DemoModelOptions = {}): Model {
  return {
    name: 'demo',
    async reply({ messages, tools, signal }, emit) {
      const situation = situationOf(messages, new Set(tools.map(({ name }) => name)));
      const reply = replyTo(situation);
      if (emit) await stream(reply, emit, wordMs, signal);
      signal?.throwIfAborted();
      return {
        content: [
          ...(reply.text === '' ? [] : [{ text: reply.text }]),
          ...reply.calls.map(({ tool, input }) => ({ toolRequest: { name: tool, input } })),
        ],
        finishReason: reply.calls.length > 0 ? 'tool-calls' : 'stop',
      };
    },
  };
}

async function stream(
  reply: Reply,
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
      emit({ type: 'tool-input', ref: `call-${index}`, name: tool, delta });
}

/** What was said last, and what has come of the calls since. */
function situationOf(messages: readonly Message[], tools: ReadonlySet<string>): Situation {
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const since = messages.slice(last + 1).flatMap(({ content }) => content);
  const inputs = new Map(
    since.flatMap((part) => ('toolRequest' in part ? [[part.toolRequest.ref, part.toolRequest]] : [])),
  );
  const finished = since.flatMap((part): readonly FinishedCall[] => {
    if (!('toolResponse' in part)) return [];
    const { name: tool, ref, output } = part.toolResponse;
    const input: unknown = inputs.get(ref)?.input;
    return [{ tool, input: isRecord(input) ? input : {}, output }];
  });
  return { said: wordsOf(messages[last]?.content ?? []), finished, tools };
}

const wordsOf = (content: readonly Part[]): string =>
  content.flatMap((part) => ('text' in part ? [part.text] : [])).join(' ');

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
