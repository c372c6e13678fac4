// The demonstration model in the shape of an AI SDK provider model: streamText takes it, and so does Countersign.
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { LanguageModel } from 'ai';
import { type DoneCall, nextTurn, type Situation, type Turn } from './script.ts';

/** A model as version 4 of the provider specification has it. */
export type ProviderModel = Extract<LanguageModel, { readonly specificationVersion: 'v4' }>;

/** Follows the script, word by word, with a pause of `delayMs` after each. */
export function demoModel({ delayMs = 25 }: { readonly delayMs?: number } = {}): ProviderModel {
  return {
    specificationVersion: 'v4',
    provider: 'demonstration',
    modelId: 'script',
    supportedUrls: {},
    async doGenerate(options) {
      const turn = nextTurn(situationOf(options));
      return { content: contentOf(turn), finishReason: finishOf(turn), usage: NO_USAGE, warnings: [] };
    },
    async doStream(options) {
      const parts = streamOf(nextTurn(situationOf(options)), delayMs, options.abortSignal);
      return { stream: Readable.toWeb(Readable.from(parts)) as ReadableStream<StreamPart> };
    },
  };
}

type Options = Parameters<ProviderModel['doStream']>[0];
type Prompt = Options['prompt'];
type Reply = Awaited<ReturnType<ProviderModel['doGenerate']>>;
type Content = Extract<Reply['content'][number], { type: 'text' | 'tool-call' }>;
type Streamed = Awaited<ReturnType<ProviderModel['doStream']>>;
type StreamPart = Streamed['stream'] extends ReadableStream<infer Part> ? Part : never;
type Output = Extract<Extract<Prompt[number], { role: 'tool' }>['content'][number], { type: 'tool-result' }>['output'];

async function* streamOf(turn: Turn, delayMs: number, signal: AbortSignal | undefined): AsyncGenerator<StreamPart> {
  const pause = () => delay(delayMs, undefined, signal ? { signal } : {});
  yield { type: 'stream-start', warnings: [] };
  for (const part of contentOf(turn)) {
    if (part.type === 'text') {
      yield { type: 'text-start', id: 'text' };
      for (const delta of part.text.match(/\S+\s*/g) ?? []) {
        yield { type: 'text-delta', id: 'text', delta };
        await pause();
      }
      yield { type: 'text-end', id: 'text' };
    }
    if (part.type === 'tool-call') {
      const { toolCallId: id, toolName, input } = part;
      yield { type: 'tool-input-start', id, toolName };
      for (const delta of input.match(/.{1,24}/gs) ?? []) {
        yield { type: 'tool-input-delta', id, delta };
        await pause();
      }
      yield { type: 'tool-input-end', id };
      yield part;
    }
  }
  yield { type: 'finish', finishReason: finishOf(turn), usage: NO_USAGE };
}

function contentOf({ text, calls }: Turn): Content[] {
  return [
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...calls.map(({ name, input }) => ({
      type: 'tool-call' as const,
      toolCallId: crypto.randomUUID(),
      toolName: name,
      input: JSON.stringify(input),
    })),
  ];
}

function finishOf({ calls }: Turn): Reply['finishReason'] {
  return { unified: calls.length > 0 ? 'tool-calls' : 'stop', raw: undefined };
}

const NO_USAGE: Reply['usage'] = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

function situationOf({ prompt, tools = [] }: Options): Situation {
  const at = prompt.findLastIndex(({ role }) => role === 'user');
  return {
    said: textOf(prompt[at]),
    done: callsIn(prompt.slice(at + 1)),
    tools: new Set(tools.map(({ name }) => name)),
  };
}

function textOf(message: Prompt[number] | undefined): string {
  if (message?.role !== 'user') return '';
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

function callsIn(prompt: Prompt): readonly DoneCall[] {
  const results = new Map<string, Output>();
  for (const { role, content } of prompt)
    if (role === 'tool')
      for (const part of content) if (part.type === 'tool-result') results.set(part.toolCallId, part.output);
  return prompt.flatMap((message) =>
    message.role === 'assistant'
      ? message.content.flatMap((part): readonly DoneCall[] => {
          if (part.type !== 'tool-call') return [];
          const output = results.get(part.toolCallId);
          return output ? [{ name: part.toolName, input: part.input, result: resultOf(output) }] : [];
        })
      : [],
  );
}

function resultOf(output: Output): DoneCall['result'] {
  switch (output.type) {
    case 'text':
    case 'json':
      return { type: 'output', output: output.value };
    case 'error-text':
      return { type: 'failure', text: output.value };
    case 'execution-denied':
      return { type: 'failure', text: output.reason ?? 'You said no.' };
    case 'error-json':
    case 'content':
      return { type: 'failure', text: JSON.stringify(output.value) };
  }
}
