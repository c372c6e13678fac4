// The model: a stand-in that follows a script and needs no key. To use a real one:
//   npm install @ai-sdk/openai
//   replace this file by: import { openai } from '@ai-sdk/openai'; export const model = openai('gpt-5');
//   OPENAI_API_KEY=sk-… npm start
import { simulateReadableStream } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';

type Options = Parameters<MockLanguageModelV4['doStream']>[0];
type StreamPart =
  Awaited<ReturnType<MockLanguageModelV4['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never;

export const model = new MockLanguageModelV4({
  modelId: 'stand-in',
  doStream: async ({ prompt }) => ({ stream: simulateReadableStream({ chunks: replyTo(prompt) }) }),
});

/** *Pay ACME 950* calls `pay`; a result is repeated to the user. */
function replyTo(prompt: Options['prompt']): StreamPart[] {
  const last = prompt.at(-1);
  if (last?.role === 'tool') {
    const outputs = last.content.flatMap((part) => (part.type === 'tool-result' ? [part.output] : []));
    return say(outputs.map((output) => ('value' in output ? String(output.value) : 'It was not approved.')).join(' '));
  }
  const said =
    last?.role === 'user' ? last.content.map((part) => (part.type === 'text' ? part.text : '')).join('') : '';
  const [, to, amount] = /\bpay\s+(\S+)\s+(\d+)/i.exec(said) ?? [];
  if (to === undefined) return say('I am a stand-in for a model. Write: Pay ACME 950');
  const input = JSON.stringify({ to, amount: Number(amount) });
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'tool-call', toolCallId: crypto.randomUUID(), toolName: 'pay', input },
    { type: 'finish', finishReason: { unified: 'tool-calls', raw: undefined }, usage: NO_USAGE },
  ];
}

function say(text: string): StreamPart[] {
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id: 'text' },
    { type: 'text-delta', id: 'text', delta: text },
    { type: 'text-end', id: 'text' },
    { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage: NO_USAGE },
  ];
}

const NO_USAGE = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};
