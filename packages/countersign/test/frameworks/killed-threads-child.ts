// A process that is killed after its payment, and the process after it. Options: the framework, the gate, the folder, the attempt.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { Command, interrupt, MemorySaver } from '@langchain/langgraph';
import { createTool } from '@mastra/core/tools';
import { countersign, z } from 'countersign';
import { gateTools as gateGraphTools } from 'countersign/langgraph';
import { gateTools as gateMastraTools } from 'countersign/mastra';
import { sqliteStore } from 'countersign/sqlite';
import { KINDS, ScriptedModel } from './graph-agents.ts';
import { openAgent } from './mastra-agents.ts';

const { framework, gated, folder } = JSON.parse(process.argv[2] ?? '{}');
const place = (name: string) => join(folder, name);
const isFirst = !existsSync(place('paid'));
const ai = countersign({ store: sqliteStore(place('runs.db')), leaseMs: 500 });
const schema = z.object({ amount: z.number() });

/** The effect is in the file before the process is killed. */
async function pay({ amount }: { amount: number }): Promise<string> {
  appendFileSync(place('paid'), `${amount}\n`);
  if (isFirst) process.kill(process.pid, 'SIGKILL');
  return `paid ${amount}`;
}

/** Keeps the checkpoints of LangGraph in a file. */
class FileSaver extends MemorySaver {
  constructor() {
    super();
    if (existsSync(place('thread'))) Object.assign(this, deserialize(readFileSync(place('thread'))));
  }

  override async put(...given: Parameters<MemorySaver['put']>) {
    return this.#kept(await super.put(...given));
  }

  override async putWrites(...given: Parameters<MemorySaver['putWrites']>) {
    return this.#kept(await super.putWrites(...given));
  }

  #kept<T>(value: T): T {
    writeFileSync(place('thread'), serialize({ storage: this.storage, writes: this.writes }));
    return value;
  }
}

async function approve(): Promise<void> {
  for (const { id, kind } of (await ai.runs.requests()).items)
    if (kind === 'approval') await ai.runs.decide(id, 'approve');
}

async function runGraph(): Promise<unknown> {
  const named = { name: 'pay', description: 'Pays.', schema };
  const bare = tool(async (input: { amount: number }) => (interrupt(input) === 'approve' ? pay(input) : 'no'), named);
  const tools = gated ? gateGraphTools([tool(pay, named)], { ai, key: 'thread' }) : [bare];
  const model = new ScriptedModel([[{ id: 'c1', name: 'pay', args: { amount: 10 } }]]);
  const graph = KINDS.createAgent({ model, tools, checkpointer: new FileSaver() });
  const thread = { configurable: { thread_id: 't1' }, durability: 'sync' };
  if (isFirst) {
    await graph.invoke({ messages: [new HumanMessage('Pay')] }, thread);
    await approve();
    return graph.invoke(new Command({ resume: 'approve' }), thread);
  }
  // What a program does with a thread that did not finish.
  const { messages, __interrupt__: pauses } = await graph.invoke(null, thread);
  return pauses?.[0].value.status ?? messages.at(-1).content;
}

/** Its storage is in memory: the second process asks the model again, which makes the same call. */
async function runMastra(): Promise<unknown> {
  const bare = createTool({
    id: 'pay',
    description: 'Pays.',
    inputSchema: schema,
    execute: async (input, { agent }: any): Promise<any> => (agent.resumeData ? pay(input) : agent.suspend({ input })),
  });
  const own = createTool({ id: 'pay', description: 'Pays.', inputSchema: schema, execute: pay });
  const tools = gated ? gateMastraTools({ pay: own }, { ai, key: 'thread' }) : { pay: bare as never };
  const agent = openAgent(tools, [{ id: 'c1', name: 'pay', input: { amount: 10 } }]);
  const { runId = '' }: any = await agent.generate('Pay');
  await approve();
  const ended: any = await agent.resumeGenerate({ approved: true }, { runId, toolCallId: 'c1' });
  return ended.finishReason === 'suspended' ? (await ai.runs.requests()).items[0]?.kind : ended.text;
}

console.log(await (framework === 'langgraph' ? runGraph() : runMastra()));
process.exit(0);
