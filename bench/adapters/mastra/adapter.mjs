// Mastra: Agent + createTool({ requireApproval: true }); generate() suspends, approveToolCallGenerate()
// resumes (docs-agents-human-in-the-loop.md). Suspending needs a storage: InMemoryStore here,
// PostgresStore in durable(). Model: a handwritten AI SDK LanguageModelV2/V3 object.

import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { InMemoryStore } from '@mastra/core/storage';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { DELTA, makePlan, makeTools, neutralHistory, PROMPT, SYSTEM } from '../../lib/plan.mjs';

export const meta = {
  id: 'mastra',
  label: 'Mastra',
  kind: 'peer',
  core: ['@mastra/core', 'zod'],
  main: '@mastra/core',
  durableCore: ['@mastra/pg'],
};

export async function create({ plan: kind, n }, { storage = new InMemoryStore() } = {}) {
  const plan = makePlan(kind === 'stream' ? 'text' : kind, n);
  const impl = makeTools();
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

  const parts = (prompt) => {
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
          finishReason: 'tool-calls',
        }
      : { content: [{ type: 'text', text: out.text }], finishReason: 'stop' };
  };
  const model = {
    specificationVersion: 'v2',
    provider: 'mock',
    modelId: 'mock',
    supportedUrls: {},
    async doGenerate({ prompt }) {
      return { ...parts(prompt), usage, warnings: [] };
    },
    async doStream({ prompt }) {
      if (kind === 'stream') {
        let i = -2;
        return {
          stream: new ReadableStream({
            pull(c) {
              if (i === -2) c.enqueue({ type: 'stream-start', warnings: [] });
              else if (i === -1) c.enqueue({ type: 'text-start', id: '0' });
              else if (i < n) c.enqueue({ type: 'text-delta', id: '0', delta: DELTA });
              else if (i === n) c.enqueue({ type: 'text-end', id: '0' });
              else {
                c.enqueue({ type: 'finish', finishReason: 'stop', usage });
                c.close();
              }
              i++;
            },
          }),
        };
      }
      const out = parts(prompt);
      return {
        stream: new ReadableStream({
          start(c) {
            c.enqueue({ type: 'stream-start', warnings: [] });
            for (const p of out.content)
              if (p.type === 'text') {
                c.enqueue({ type: 'text-start', id: '0' });
                c.enqueue({ type: 'text-delta', id: '0', delta: p.text });
                c.enqueue({ type: 'text-end', id: '0' });
              } else c.enqueue(p);
            c.enqueue({ type: 'finish', finishReason: out.finishReason, usage });
            c.close();
          },
        }),
      };
    },
  };

  const lookup = createTool({
    id: 'lookup',
    description: 'lookup',
    inputSchema: z.object({ key: z.string() }),
    execute: async (i) => impl.lookup(i),
  });
  const transfer = createTool({
    id: 'transfer',
    description: 'transfer',
    inputSchema: z.object({ to: z.string(), amount: z.number() }),
    requireApproval: true,
    execute: async (i) => impl.transfer(i),
  });
  const mastra = new Mastra({
    logger: false,
    storage,
    agents: {
      clerk: new Agent({ id: 'clerk', name: 'clerk', instructions: SYSTEM, model, tools: { lookup, transfer } }),
    },
  });
  const agent = mastra.getAgent('clerk');
  const opts = { maxSteps: kind === 'loop' ? n + 5 : 10 };

  // generate() reports one suspended call at a time; a turn with k of them takes k approvals
  async function approveAll(runId, toolCallId) {
    let r,
      guard = 0;
    do {
      r = await agent.approveToolCallGenerate({ runId, toolCallId, ...opts });
      toolCallId = r.suspendPayload?.toolCallId;
      if (++guard > 1000) throw new Error('never finishes');
    } while (r.finishReason === 'suspended');
    return r;
  }

  return {
    counts: impl.counts,
    storage,
    agent,
    history: (k) => neutralHistory(k).map((m) => ({ role: m.role, content: m.text })),
    async pause(history) {
      const r = await agent.generate(history ?? PROMPT, opts);
      return {
        runId: r.runId,
        toolCallId: r.suspendPayload?.toolCallId,
        pending: r.finishReason === 'suspended' ? 1 : 0,
      };
    },
    async resume({ runId, toolCallId }) {
      return (await approveAll(runId, toolCallId)).text;
    },
    async run() {
      return (await agent.generate(PROMPT, opts)).text;
    },
    async stream(onDelta) {
      const r = await agent.stream(PROMPT);
      for await (const d of r.textStream) onDelta(d);
    },
    async durable({ connectionString, poolMax }) {
      const { PostgresStore } = await import('@mastra/pg');
      const store = new PostgresStore({ id: 'bench', connectionString, max: poolMax });
      await store.init();
      const d = await create({ plan: kind, n }, { storage: store });
      return {
        counts: d.counts,
        pause: async (id) =>
          (await d.agent.generate(PROMPT, { ...opts, runId: id })).finishReason === 'suspended' ? 1 : 0,
        resume: async (id) => (await d.agent.approveToolCallGenerate({ runId: id, ...opts })).text,
        close: () => store.close(),
      };
    },
  };
}
