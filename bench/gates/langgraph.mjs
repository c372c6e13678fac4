// LangGraph: a graph with a ToolNode. Bare, the tool pauses the graph with `interrupt()`.
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { Command, interrupt, MemorySaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { gateTools } from 'countersign/langgraph';
import { z } from 'zod';
import { makePlan, makeTools, PROMPT } from '../lib/plan.mjs';

export function open(gate) {
  const impl = makeTools();
  const lookup = tool(async (input) => JSON.stringify(impl.lookup(input)), {
    name: 'lookup',
    description: 'lookup',
    schema: z.object({ key: z.string() }),
  });
  const transfer = tool(
    async (input) => {
      if (!gate && interrupt({ input }) !== 'approve') return 'rejected';
      return JSON.stringify(impl.transfer(input));
    },
    { name: 'transfer', description: 'transfer', schema: z.object({ to: z.string(), amount: z.number() }) },
  );
  const key = ({ configurable }) => configurable.thread_id;
  const tools = gate ? gateTools([lookup, transfer], { ai: gate.ai, key, approve: ['transfer'] }) : [lookup, transfer];
  const checkpointer = new MemorySaver();
  const graphOf = (plan) =>
    new StateGraph(MessagesAnnotation)
      .addNode('model', async ({ messages }) => ({
        messages: [replyOf(plan.next(messages.at(-1).getType() === 'tool'))],
      }))
      .addNode('tools', new ToolNode(tools))
      .addEdge(START, 'model')
      .addConditionalEdges('model', toolsCondition)
      .addEdge('tools', 'model')
      .compile({ checkpointer });
  const graphs = { approved: graphOf(makePlan('approve')), ungated: graphOf(makePlan('loop', 1)) };
  let threads = 0;
  const inThread = async (work) => {
    const thread_id = `thread-${++threads}`;
    const { messages } = await work({ configurable: { thread_id } });
    await checkpointer.deleteThread(thread_id);
    return messages.at(-1).content;
  };
  const asked = () => ({ messages: [new HumanMessage(PROMPT)] });
  return {
    counts: impl.counts,
    approved: () =>
      inThread(async (config) => {
        await graphs.approved.invoke(asked(), config);
        await gate?.approve();
        return graphs.approved.invoke(new Command({ resume: 'approve' }), config);
      }),
    ungated: () => inThread((config) => graphs.ungated.invoke(asked(), config)),
  };
}

const replyOf = ({ calls, text }) =>
  calls
    ? new AIMessage({
        content: '',
        tool_calls: calls.map(({ id, name, args }) => ({ id, name, args, type: 'tool_call' })),
      })
    : new AIMessage(text);
