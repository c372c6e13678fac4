// LangChain createAgent + humanInTheLoopMiddleware on LangGraph: the high-level, documented HITL form.

import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk, HumanMessage } from '@langchain/core/messages';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import { Command, MemorySaver } from '@langchain/langgraph';
import { createAgent, humanInTheLoopMiddleware, tool } from 'langchain';
import { z } from 'zod';
import { DELTA, makePlan, makeTools, neutralHistory, PROMPT, SYSTEM } from '../../lib/plan.mjs';

export const meta = {
  id: 'langgraph:createagent',
  label: 'LangChain createAgent',
  kind: 'peer',
  variantOf: 'langgraph',
  core: ['langchain', '@langchain/langgraph', '@langchain/core', 'zod'],
  main: 'langchain',
  durableCore: ['@langchain/langgraph-checkpoint-postgres'],
};

class Mock extends BaseChatModel {
  constructor(plan, n, counts) {
    super({});
    this.plan = plan;
    this.n = n;
    this.counts = counts;
  }
  _llmType() {
    return 'mock';
  }
  bindTools() {
    return this;
  }
  async _generate(messages) {
    this.counts.model++;
    const out = this.plan.next(messages[messages.length - 1].getType() === 'tool');
    const message = out.calls
      ? new AIMessage({
          content: '',
          tool_calls: out.calls.map((c) => ({ id: c.id, name: c.name, args: c.args, type: 'tool_call' })),
        })
      : new AIMessage({ content: out.text });
    return { generations: [{ message, text: out.text ?? '' }] };
  }
}
class StreamMock extends Mock {
  async *_streamResponseChunks(_m, _o, runManager) {
    for (let i = 0; i < this.n; i++) {
      const c = new ChatGenerationChunk({ message: new AIMessageChunk({ content: DELTA }), text: DELTA });
      yield c;
      await runManager?.handleLLMNewToken(DELTA, undefined, undefined, undefined, undefined, { chunk: c });
    }
  }
}

export async function create({ plan: kind, n }, { checkpointer = new MemorySaver() } = {}) {
  const plan = makePlan(kind === 'stream' ? 'text' : kind, n);
  const impl = makeTools();
  const model = kind === 'stream' ? new StreamMock(plan, n, impl.counts) : new Mock(plan, n, impl.counts);
  const agent = createAgent({
    model,
    systemPrompt: SYSTEM,
    tools: [
      tool(async (i) => JSON.stringify(impl.lookup(i)), {
        name: 'lookup',
        description: 'lookup',
        schema: z.object({ key: z.string() }),
      }),
      tool(async (i) => JSON.stringify(impl.transfer(i)), {
        name: 'transfer',
        description: 'transfer',
        schema: z.object({ to: z.string(), amount: z.number() }),
      }),
    ],
    middleware: [humanInTheLoopMiddleware({ interruptOn: { transfer: { allowedDecisions: ['approve', 'reject'] } } })],
    checkpointer: kind === 'loop' || kind === 'stream' || kind === 'text' ? undefined : checkpointer,
  });
  const recursionLimit = kind === 'loop' ? 4 * n + 20 : 50;
  const config = (id) => ({ configurable: { thread_id: id }, recursionLimit });
  let seq = 0;
  const pauseAs = async (id, messages) => {
    const r = await agent.invoke({ messages }, config(id));
    return { id, pending: r.__interrupt__[0].value.actionRequests.length };
  };
  const resumeAs = async (id, pending) => {
    const decisions = Array.from({ length: pending }, () => ({ type: 'approve' }));
    const r = await agent.invoke(new Command({ resume: { decisions } }), config(id));
    return r.messages[r.messages.length - 1].content;
  };
  return {
    counts: impl.counts,
    history: (k) =>
      neutralHistory(k).map((m) => (m.role === 'user' ? new HumanMessage(m.text) : new AIMessage(m.text))),
    pause: (history) => pauseAs(`t${++seq}`, history ?? [new HumanMessage(PROMPT)]),
    resume: ({ id, pending }) => resumeAs(id, pending),
    dispose: ({ id }) => checkpointer.deleteThread(id),
    async run() {
      const r = await agent.invoke({ messages: [new HumanMessage(PROMPT)] }, { recursionLimit });
      return r.messages[r.messages.length - 1].content;
    },
    async stream(onDelta) {
      for await (const [chunk] of await agent.stream(
        { messages: [new HumanMessage(PROMPT)] },
        { streamMode: 'messages' },
      ))
        onDelta(chunk.content);
    },
    async streamBytes(onBytes) {
      for await (const b of await agent.stream(
        { messages: [new HumanMessage(PROMPT)] },
        { streamMode: 'messages', encoding: 'text/event-stream' },
      ))
        onBytes(b);
    },
    async durable({ connectionString, poolMax }) {
      const { PostgresSaver } = await import('@langchain/langgraph-checkpoint-postgres');
      const pg = (await import('pg')).default;
      const pool = new pg.Pool({ connectionString, max: poolMax });
      const saver = new PostgresSaver(pool);
      await saver.setup();
      const d = await create({ plan: kind, n }, { checkpointer: saver });
      return {
        counts: d.counts,
        pause: (id) => d.pauseDurable(id),
        resume: (id) => d.resumeDurable(id),
        close: () => pool.end(),
      };
    },
    pauseDurable: async (id) => (await pauseAs(id, [new HumanMessage(PROMPT)])).pending,
    resumeDurable: (id) => resumeAs(id, 1),
  };
}
