// LangGraph: `createAgent` with the human-in-the-loop middleware and checkpoints in PostgreSQL.
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, ToolMessage } from '@langchain/core/messages';
import { Command } from '@langchain/langgraph';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import * as engine from 'countersign';
import { gateTools, withdrawMiddleware } from 'countersign/langgraph';
import { sqliteStore } from 'countersign/sqlite';
import { createAgent, createMiddleware, humanInTheLoopMiddleware, tool } from 'langchain';
import { z } from 'zod';
import { openGate, TITLE } from '../../lib/gate.mjs';
import { callOf, promptOf, textOf, toldBy } from '../../lib/model.mjs';

class ScriptedModel extends BaseChatModel {
  _llmType() {
    return 'scripted';
  }
  bindTools() {
    return this;
  }
  async _generate(messages) {
    const last = messages.at(-1);
    const message = ToolMessage.isInstance(last)
      ? new AIMessage(textOf(last.content))
      : new AIMessage({ content: '', tool_calls: [toolCall(last.content)] });
    return { generations: [{ text: String(message.content), message }] };
  }
}
function toolCall(prompt) {
  const { id, name, input } = callOf(prompt);
  return { id, name, args: input, type: 'tool_call' };
}

export async function open({ folder, pay, gated, database, version = 1, deadlineMs }) {
  const checkpointer = PostgresSaver.fromConnString(database);
  await checkpointer.setup();
  const gate = gated ? openGate({ ...engine, sqliteStore }, folder) : undefined;
  const own = tool(pay, {
    name: 'pay',
    description: version === 1 ? 'Pays.' : 'Pays an invoice.',
    schema: z.object({ to: z.string(), amount: z.number() }),
  });
  const asks = deadlineMs === undefined ? {} : { asks: { pay: { expiresIn: deadlineMs } } };
  const key = ({ configurable }) => configurable.thread_id;
  const tools = gated ? gateTools([own], { ai: gate.ai, key, title: TITLE, ...asks }) : [own];
  const middleware = gated
    ? [createMiddleware(withdrawMiddleware(tools))]
    : [humanInTheLoopMiddleware({ interruptOn: { pay: { allowedDecisions: ['approve', 'reject'] } } })];
  const agent = createAgent({ model: new ScriptedModel({}), tools, checkpointer, middleware });
  const thread = (id) => ({ configurable: { thread_id: id } });
  const told = ({ messages, __interrupt__: pauses }) => (pauses?.length ? 'asked' : toldBy(messages.at(-1).content));
  const resume = async (id, decision) => {
    const value = gated
      ? 'decided'
      : { decisions: [decision === 'approve' ? { type: 'approve' } : { type: 'reject', message: 'rejected' }] };
    return told(await agent.invoke(new Command({ resume: value }), thread(id)));
  };
  const pausesOf = ({ tasks }) => tasks.flatMap(({ interrupts }) => interrupts);
  return {
    start: (id) =>
      agent.invoke({ messages: [{ role: 'user', content: promptOf(id) }] }, thread(id)).then(() => 'waits'),
    async decide(id, decision) {
      await gate?.decide(id, decision);
      return resume(id, decision);
    },
    replay: (id) => resume(id, 'approve'),
    async look(id) {
      const asked = await gate?.look(id);
      if (asked === 'asked' || asked === 'waiting') return asked;
      const state = await agent.graph.getState(thread(id));
      if (pausesOf(state).length > 0) return gated ? 'unfinished' : 'waiting';
      return state.next.length > 0 ? 'unfinished' : toldBy(state.values.messages.at(-1).content);
    },
    // A thread that did not finish goes on with no new input; one that is paused needs a value.
    async recover(id) {
      const state = await agent.graph.getState(thread(id));
      return pausesOf(state).length > 0 ? resume(id, 'approve') : told(await agent.invoke(null, thread(id)));
    },
    ...(gate && { answer: gate.answer, hasDeadline: () => true }),
  };
}
