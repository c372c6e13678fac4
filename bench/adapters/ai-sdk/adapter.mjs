// Vercel AI SDK: generateText / streamText with toolApproval ('user-approval'), resumed by
// appending a tool-approval-response message, as ai/docs/03-agents/06-tool-approvals.mdx says.
import { generateText, isStepCount, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { DELTA, makePlan, makeTools, neutralHistory, PROMPT, SYSTEM } from '../../lib/plan.mjs';

globalThis.AI_SDK_LOG_WARNINGS = false;

export const meta = { id: 'ai-sdk', label: 'AI SDK', kind: 'peer', core: ['ai', 'zod'], main: 'ai' };

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};
const stop = (unified) => ({ unified, raw: undefined });

export async function create({ plan: kind, n }) {
  const plan = makePlan(kind === 'stream' ? 'text' : kind, n);
  const impl = makeTools();

  const model = {
    specificationVersion: 'v4',
    provider: 'mock',
    modelId: 'mock',
    supportedUrls: {},
    async doGenerate({ prompt }) {
      impl.counts.model++;
      const out = plan.next(prompt[prompt.length - 1].role === 'tool');
      return out.calls
        ? {
            content: out.calls.map((c) => ({
              type: 'tool-call',
              toolCallId: c.id,
              toolName: c.name,
              input: JSON.stringify(c.args),
            })),
            finishReason: stop('tool-calls'),
            usage,
            warnings: [],
          }
        : { content: [{ type: 'text', text: out.text }], finishReason: stop('stop'), usage, warnings: [] };
    },
    async doStream() {
      let i = -2;
      return {
        stream: new ReadableStream({
          pull(c) {
            if (i === -2) c.enqueue({ type: 'stream-start', warnings: [] });
            else if (i === -1) c.enqueue({ type: 'text-start', id: '0' });
            else if (i < n) c.enqueue({ type: 'text-delta', id: '0', delta: DELTA });
            else if (i === n) c.enqueue({ type: 'text-end', id: '0' });
            else {
              c.enqueue({ type: 'finish', finishReason: stop('stop'), usage });
              c.close();
            }
            i++;
          },
        }),
      };
    },
  };

  const tools = {
    lookup: tool({
      description: 'lookup',
      inputSchema: z.object({ key: z.string() }),
      execute: async (i) => impl.lookup(i),
    }),
    transfer: tool({
      description: 'transfer',
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      execute: async (i) => impl.transfer(i),
    }),
  };
  const toolApproval = { transfer: 'user-approval' };
  const stopWhen = (isStepCount ?? stepCountIs)(kind === 'loop' ? n + 5 : 10);
  const gen = (messages) => generateText({ model, instructions: SYSTEM, messages, tools, toolApproval, stopWhen });

  return {
    counts: impl.counts,
    history: (k) => neutralHistory(k).map((m) => ({ role: m.role, content: m.text })),
    async pause(history) {
      const messages = history ? history.slice() : [{ role: 'user', content: PROMPT }];
      const r = await gen(messages);
      messages.push(...r.responseMessages);
      const approvals = r.content.filter((p) => p.type === 'tool-approval-request').map((p) => p.approvalId);
      return { messages, approvals, pending: approvals.length };
    },
    async resume({ messages, approvals }) {
      messages.push({
        role: 'tool',
        content: approvals.map((approvalId) => ({ type: 'tool-approval-response', approvalId, approved: true })),
      });
      return (await gen(messages)).text;
    },
    async run() {
      return (await gen([{ role: 'user', content: PROMPT }])).text;
    },
    async stream(onDelta) {
      const r = streamText({ model, messages: [{ role: 'user', content: PROMPT }] });
      for await (const d of r.textStream) onDelta(d);
    },
    async streamBytes(onBytes) {
      const r = streamText({ model, messages: [{ role: 'user', content: PROMPT }] });
      for await (const b of r.toUIMessageStreamResponse().body) onBytes(b);
    },
    save: (h) => JSON.stringify({ messages: h.messages, approvals: h.approvals }),
    load: (s) => {
      const h = JSON.parse(s);
      return { ...h, pending: h.approvals.length };
    },
  };
}
