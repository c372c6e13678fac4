// The AI SDK: a chat route with `streamText`, as `useChat` posts to it. The second post brings the approval.
import { convertToModelMessages, isStepCount, readUIMessageStream, streamText, tool } from 'ai';
import { gateTools } from 'countersign/ai-sdk';
import { z } from 'zod';
import { makePlan, makeTools, PROMPT } from '../lib/plan.mjs';

export function open(gate) {
  const impl = makeTools();
  const tools = {
    lookup: tool({
      description: 'lookup',
      inputSchema: z.object({ key: z.string() }),
      execute: async (i) => impl.lookup(i),
    }),
    transfer: tool({
      description: 'transfer',
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      needsApproval: true,
      execute: async (i) => impl.transfer(i),
    }),
  };
  const bare = { tools, receive: async (messages) => messages, send: (stream) => stream };
  const models = { approved: modelOf(makePlan('approve')), ungated: modelOf(makePlan('loop', 1)) };
  let chats = 0;

  async function post(model, key, messages) {
    const gated = gate ? gateTools(tools, { ai: gate.ai, key, by: 'ann' }) : bare;
    const received = await gated.receive(messages);
    const result = streamText({
      model,
      messages: await convertToModelMessages(received),
      tools: gated.tools,
      stopWhen: isStepCount(5),
    });
    const stream = gated.send(result.toUIMessageStream({ originalMessages: received }));
    const last = received.at(-1);
    let message = last.role === 'assistant' ? last : undefined;
    for await (const next of readUIMessageStream({ stream, ...(message && { message }) })) message = next;
    return message;
  }
  const asked = { id: 'asked', role: 'user', parts: [{ type: 'text', text: PROMPT }] };
  const textOf = ({ parts }) => parts.findLast(({ type }) => type === 'text')?.text;
  return {
    counts: impl.counts,
    async approved() {
      const key = `chat-${++chats}`;
      const paused = await post(models.approved, key, [asked]);
      const parts = paused.parts.map((part) =>
        part.approval ? { ...part, state: 'approval-responded', approval: { ...part.approval, approved: true } } : part,
      );
      return textOf(await post(models.approved, key, [asked, { ...paused, parts }]));
    },
    ungated: async () => textOf(await post(models.ungated, `chat-${++chats}`, [asked])),
  };
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};

function modelOf(plan) {
  return {
    specificationVersion: 'v4',
    provider: 'mock',
    modelId: 'mock',
    supportedUrls: {},
    async doStream({ prompt }) {
      const { calls = [], text } = plan.next(prompt.at(-1).role === 'tool');
      const said =
        text === undefined
          ? []
          : [
              { type: 'text-start', id: '0' },
              { type: 'text-delta', id: '0', delta: text },
              { type: 'text-end', id: '0' },
            ];
      const called = calls.map(({ id, name, args }) => ({
        type: 'tool-call',
        toolCallId: id,
        toolName: name,
        input: JSON.stringify(args),
      }));
      const finishReason = { unified: text === undefined ? 'tool-calls' : 'stop', raw: undefined };
      const parts = [
        { type: 'stream-start', warnings: [] },
        ...said,
        ...called,
        { type: 'finish', finishReason, usage },
      ];
      return { stream: ReadableStream.from(parts) };
    },
  };
}
