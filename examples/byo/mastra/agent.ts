// A Mastra agent whose payment waits for a person. Run it with `node agent.ts`.
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { InMemoryStore } from '@mastra/core/storage';
import { createTool } from '@mastra/core/tools';
import { countersign } from 'countersign';
import { gateTools } from 'countersign/mastra';
import { sqliteStore } from 'countersign/sqlite';
import { z } from 'zod';
import { scriptedModel } from './scripted-model.ts';

// Yours, such as 'openai/gpt-5'. This one makes the call below, and needs no key.
const model = scriptedModel({ id: 'call_1', name: 'pay', input: { to: 'ACME', amount: 950 } });

const pay = createTool({
  id: 'pay',
  description: 'Pays an invoice',
  inputSchema: z.object({ to: z.string(), amount: z.number() }),
  execute: async ({ to, amount }) => `Paid ${amount} to ${to}`,
});

const ai = countersign({ store: sqliteStore(':memory:') }); // A file, or PostgreSQL, where it must survive.
const tools = gateTools(
  { pay },
  {
    ai,
    key: 'chat-7', // Your server chooses the conversation.
    title: { pay: ({ to, amount }) => `Pay ${amount} to ${to}` },
    asks: { pay: { risk: 'high' } },
  },
);
const clerk = new Agent({ id: 'clerk', name: 'clerk', instructions: 'You pay invoices.', model, tools });
const agent = new Mastra({ agents: { clerk }, storage: new InMemoryStore(), logger: false }).getAgent('clerk');

const { runId = '' } = await agent.generate('Pay the invoice of ACME');

// The run is suspended. People decide in the inbox; here, this line does.
const [request] = (await ai.runs.requests()).items;
console.log(`Waiting: ${request?.title}`);
await ai.runs.decide(request?.id ?? '', 'approve', { by: 'bea' });

// Any value resumes the run. Only the record decides.
const { text } = await agent.resumeGenerate({ resumed: true }, { runId, toolCallId: 'call_1' });
console.log(text);
