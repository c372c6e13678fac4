// An agent of the OpenAI Agents SDK whose payments wait for a person: `node agent.ts`, then `node agent.ts approve`.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, RunState, run, tool } from '@openai/agents';
import { countersign } from 'countersign';
import { approveDecided, gateTools } from 'countersign/openai-agents';
import { sqliteStore } from 'countersign/sqlite';
import { z } from 'zod';
import { scriptedModel } from './scripted-model.ts';

const SAVED = 'paused.json';
const ai = countersign({ store: sqliteStore('runs.db') });

const pay = tool({
  name: 'pay',
  description: 'Pays a supplier.',
  parameters: z.object({ to: z.string(), amount: z.number() }),
  async execute({ to, amount }) {
    console.log(`The bank pays ${amount} to ${to}.`);
    return `Paid ${amount} to ${to}.`;
  },
});

const agent = new Agent({
  name: 'clerk',
  model: scriptedModel, // With a key: 'gpt-5'
  tools: gateTools([pay], {
    ai,
    key: 'conversation 1',
    title: { pay: ({ to, amount }) => `Pay ${amount} to ${to}` },
  }),
});

// People decide in the inbox, by mail, in Slack or on the command line. This program also takes a decision as its argument.
const [, , decision] = process.argv;
if (decision === 'approve' || decision === 'reject')
  for (const { id } of (await ai.runs.requests()).items) await ai.runs.decide(id, decision, { by: 'you' });

const result = await run(agent, existsSync(SAVED) ? await restored() : 'Pay ACME 950.');
if (result.interruptions.length > 0) {
  writeFileSync(SAVED, result.state.toString());
  for (const { title, id } of (await ai.runs.requests()).items) console.log(`Waiting for a decision: ${title} (${id})`);
} else {
  rmSync(SAVED, { force: true });
  console.log(result.finalOutput);
}

async function restored() {
  const state = await RunState.fromString(agent, readFileSync(SAVED, 'utf8'));
  await approveDecided(state);
  return state;
}
