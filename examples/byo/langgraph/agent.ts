// A LangChain agent whose payment waits for a person. Run it with `node agent.ts`.
import { Command, MemorySaver } from '@langchain/langgraph';
import { countersign } from 'countersign';
import { gateTools, withdrawMiddleware } from 'countersign/langgraph';
import { sqliteStore } from 'countersign/sqlite';
import { createAgent, createMiddleware, FakeToolCallingModel, tool } from 'langchain';
import { z } from 'zod';

// Yours, such as 'openai:gpt-5'. This one makes the call below, and needs no key.
const model = new FakeToolCallingModel({
  toolCalls: [[{ id: 'call_1', name: 'pay', args: { to: 'ACME', amount: 950 } }], []],
});

const pay = tool(async ({ to, amount }) => `Paid ${amount} to ${to}`, {
  name: 'pay',
  description: 'Pays an invoice',
  schema: z.object({ to: z.string(), amount: z.number() }),
});

const ai = countersign({ store: sqliteStore(':memory:') }); // A file, or PostgreSQL, where it must survive.
const tools = gateTools([pay], {
  ai,
  key: (config) => config.configurable?.thread_id,
  title: { pay: ({ to, amount }) => `Pay ${amount} to ${to}` },
  asks: { pay: { risk: 'high' } },
});
const agent = createAgent({
  model,
  tools,
  checkpointer: new MemorySaver(),
  middleware: [createMiddleware(withdrawMiddleware(tools))],
});

// Your server chooses the thread.
const thread = { configurable: { thread_id: 'chat-7' } };
await agent.invoke({ messages: [{ role: 'user', content: 'Pay the invoice of ACME' }] }, thread);

// The graph is paused. People decide in the inbox; here, this line does.
const [request] = (await ai.runs.requests()).items;
console.log(`Waiting: ${request?.title}`);
await ai.runs.decide(request?.id ?? '', 'approve', { by: 'bea' });

// Any value resumes the graph. Only the record decides.
const { messages } = await agent.invoke(new Command({ resume: 'decided' }), thread);
console.log(messages.find((message) => message.type === 'tool')?.content);
