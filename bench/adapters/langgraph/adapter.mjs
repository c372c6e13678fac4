// LangGraph: a StateGraph over MessagesAnnotation with plain nodes, one Send task per tool call
// (so that finished plain calls are not run again on resume) and interrupt() in the tool node.
// A checkpointer is mandatory for interrupts: MemorySaver here, PostgresSaver in durable().
// This is the leanest documented form; createagent.mjs is the higher-level one.

import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import {
  Command,
  END,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from '@langchain/langgraph';
import { z } from 'zod';
import { DELTA, makePlan, makeTools, neutralHistory, PROMPT, SYSTEM } from '../../lib/plan.mjs';

export const meta = {
  id: 'langgraph',
  label: 'LangGraph',
  kind: 'peer',
  core: ['@langchain/langgraph', '@langchain/core', 'zod'],
  main: '@langchain/langgraph',
  durableCore: ['@langchain/langgraph-checkpoint-postgres'],
};

class StreamModel extends BaseChatModel {
  constructor(n) {
    super({});
    this.n = n;
  }
  _llmType() {
    return 'mock';
  }
  async _generate() {
    throw new Error('streaming only');
  }
  async *_streamResponseChunks(_m, _o, runManager) {
    for (let i = 0; i < this.n; i++) {
      const c = new ChatGenerationChunk({ message: new AIMessageChunk({ content: DELTA }), text: DELTA });
      yield c;
      await runManager?.handleLLMNewToken(DELTA, undefined, undefined, undefined, undefined, { chunk: c });
    }
  }
}

export async function create(
  { plan: kind, n },
  { checkpointer = new MemorySaver(), durability, alwaysCheckpoint } = {},
) {
  const plan = makePlan(kind === 'stream' ? 'text' : kind, n);
  const impl = makeTools();
  const schemas = {
    lookup: z.object({ key: z.string() }),
    transfer: z.object({ to: z.string(), amount: z.number() }),
  };
  const chat = kind === 'stream' ? new StreamModel(n) : null;

  const graph = new StateGraph(MessagesAnnotation)
    .addNode('model', async (s) => {
      impl.counts.model++;
      if (chat) return { messages: [await chat.invoke(s.messages)] };
      const last = s.messages[s.messages.length - 1];
      const out = plan.next(last.getType() === 'tool');
      return {
        messages: [
          out.calls
            ? new AIMessage({
                content: '',
                tool_calls: out.calls.map((c) => ({ id: c.id, name: c.name, args: c.args, type: 'tool_call' })),
              })
            : new AIMessage({ content: out.text }),
        ],
      };
    })
    .addNode('tool', async ({ call }) => {
      const input = schemas[call.name].parse(call.args);
      if (call.name === 'transfer' && interrupt({ call }) !== 'approve')
        return { messages: [new ToolMessage({ content: 'rejected', tool_call_id: call.id, name: call.name })] };
      const output = await impl[call.name](input);
      return {
        messages: [new ToolMessage({ content: JSON.stringify(output), tool_call_id: call.id, name: call.name })],
      };
    })
    .addEdge(START, 'model')
    .addConditionalEdges('model', (s) => {
      const last = s.messages[s.messages.length - 1];
      return last.tool_calls?.length ? last.tool_calls.map((call) => new Send('tool', { call })) : END;
    })
    .addEdge('tool', 'model')
    .compile({
      checkpointer: !alwaysCheckpoint && ['loop', 'stream', 'text'].includes(kind) ? undefined : checkpointer,
    });

  const recursionLimit = kind === 'loop' ? 2 * n + 20 : 50;
  const config = (id) => ({ configurable: { thread_id: id }, recursionLimit, ...(durability ? { durability } : {}) });
  let seq = 0;
  const pauseAs = async (id, messages) => {
    const r = await graph.invoke({ messages }, config(id));
    return { id, interrupts: r.__interrupt__.map((i) => i.id), pending: r.__interrupt__.length };
  };
  const resumeAs = async (id, interrupts) => {
    const resume = interrupts.length === 1 ? 'approve' : Object.fromEntries(interrupts.map((i) => [i, 'approve']));
    const r = await graph.invoke(new Command({ resume }), config(id));
    return r.messages[r.messages.length - 1].content;
  };
  const first = () => [new SystemMessage(SYSTEM), new HumanMessage(PROMPT)];

  return {
    counts: impl.counts,
    checkpointer,
    history: (k) =>
      neutralHistory(k).map((m) => (m.role === 'user' ? new HumanMessage(m.text) : new AIMessage(m.text))),
    pause: (history) => pauseAs(`t${++seq}`, history ?? first()),
    resume: ({ id, interrupts }) => resumeAs(id, interrupts),
    // forget a finished thread, so that the in-memory saver does not grow across iterations
    dispose: ({ id }) => checkpointer.deleteThread(id),
    async run() {
      const id = `r${++seq}`;
      const r = await graph.invoke({ messages: [new HumanMessage(PROMPT)] }, config(id));
      if (alwaysCheckpoint) await checkpointer.deleteThread(id);
      return r.messages[r.messages.length - 1].content;
    },
    async stream(onDelta) {
      for await (const [chunk] of await graph.stream(
        { messages: [new HumanMessage(PROMPT)] },
        { streamMode: 'messages' },
      ))
        onDelta(chunk.content);
    },
    async streamBytes(onBytes) {
      for await (const b of await graph.stream(
        { messages: [new HumanMessage(PROMPT)] },
        { streamMode: 'messages', encoding: 'text/event-stream' },
      ))
        onBytes(b);
    },
    // state lives in the checkpointer; this is the size of what it holds for one thread
    savedBytes({ id }) {
      let bytes = 0;
      const size = (v) =>
        v instanceof Uint8Array
          ? v.byteLength
          : typeof v === 'string'
            ? Buffer.byteLength(v)
            : Array.isArray(v)
              ? v.reduce((a, x) => a + size(x), 0)
              : v && typeof v === 'object'
                ? Object.values(v).reduce((a, x) => a + size(x), 0)
                : 0;
      bytes += size(checkpointer.storage[id]);
      for (const k of Object.keys(checkpointer.writes))
        if (k.includes(`"${id}"`)) bytes += size(checkpointer.writes[k]);
      return bytes;
    },
    async durable({ connectionString, poolMax }) {
      const { PostgresSaver } = await import('@langchain/langgraph-checkpoint-postgres');
      const pg = (await import('pg')).default;
      const pool = new pg.Pool({ connectionString, max: poolMax });
      const saver = new PostgresSaver(pool);
      await saver.setup();
      const d = await create({ plan: kind, n }, { checkpointer: saver, durability });
      return {
        counts: d.counts,
        pause: (id) => d.pauseDurable(id),
        resume: (id) => d.resumeDurable(id),
        close: () => pool.end(),
      };
    },
    pauseDurable: async (id) => (await pauseAs(id, first())).pending,
    // a fresh process only knows the thread id; a single interrupt needs no interrupt id
    resumeDurable: (id) => resumeAs(id, ['only']),
  };
}
