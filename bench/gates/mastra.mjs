// Mastra: an agent that is suspended. Bare, by `requireApproval`.
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { InMemoryStore } from '@mastra/core/storage';
import { createTool } from '@mastra/core/tools';
import { gateTools } from 'countersign/mastra';
import { z } from 'zod';
import { makePlan, makeTools, PROMPT, SYSTEM } from '../lib/plan.mjs';

export function open(gate) {
  const impl = makeTools();
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
    ...(!gate && { requireApproval: true }),
    execute: async (i) => impl.transfer(i),
  });
  const plain = { lookup, transfer };
  const tools = gate ? gateTools(plain, { ai: gate.ai, key: 'chat', approve: ['transfer'] }) : plain;
  const agentOf = (name, plan) => new Agent({ id: name, name, instructions: SYSTEM, model: modelOf(plan), tools });
  const agents = {
    approved: agentOf('approved', makePlan('approve')),
    ungated: agentOf('ungated', makePlan('loop', 1)),
  };
  const mastra = new Mastra({ agents, storage: new InMemoryStore(), logger: false });
  const [approved, ungated] = ['approved', 'ungated'].map((name) => mastra.getAgent(name));
  return {
    counts: impl.counts,
    async approved() {
      const { runId, suspendPayload } = await approved.generate(PROMPT);
      const { toolCallId } = suspendPayload;
      if (!gate) return (await approved.approveToolCallGenerate({ runId, toolCallId })).text;
      await gate.approve();
      return (await approved.resumeGenerate({ resumed: true }, { runId, toolCallId })).text;
    },
    ungated: async () => (await ungated.generate(PROMPT)).text,
  };
}

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

function modelOf(plan) {
  return {
    specificationVersion: 'v2',
    provider: 'mock',
    modelId: 'mock',
    supportedUrls: {},
    async doGenerate({ prompt }) {
      const { calls, text } = plan.next(prompt.at(-1).role === 'tool');
      const content = calls
        ? calls.map(({ id, name, args }) => ({
            type: 'tool-call',
            toolCallId: id,
            toolName: name,
            input: JSON.stringify(args),
          }))
        : [{ type: 'text', text }];
      return { content, finishReason: calls ? 'tool-calls' : 'stop', usage, warnings: [] };
    },
    doStream: () => Promise.reject(new Error('This model does not stream.')),
  };
}
