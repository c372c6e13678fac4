// A Genkit app whose payments wait for a person: `node agent.ts`, then `node agent.ts approve`.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { countersign } from 'countersign';
import { gateTools } from 'countersign/genkit';
import { sqliteStore } from 'countersign/sqlite';
import { genkit, z } from 'genkit/beta';
import { scriptedModel } from './scripted-model.ts';

const SAVED = 'paused.json';
const ai = countersign({ store: sqliteStore('runs.db') });
const app = genkit({});

// A dynamic tool is not registered, so its function can be reached through the gate only.
const pay = app.dynamicTool(
  {
    name: 'pay',
    description: 'Pays a supplier.',
    inputSchema: z.object({ to: z.string(), amount: z.number() }),
    outputSchema: z.string(),
  },
  async ({ to, amount }) => {
    console.log(`The bank pays ${amount} to ${to}.`);
    return `Paid ${amount} to ${to}.`;
  },
);

const gated = gateTools([pay], {
  ai,
  key: 'conversation 1',
  title: { pay: ({ to, amount }) => `Pay ${amount} to ${to}` },
});

// People decide in the inbox, by mail, in Slack or on the command line. This program also takes a decision as its argument.
const [, , decision] = process.argv;
if (decision === 'approve' || decision === 'reject')
  for (const { id } of (await ai.runs.requests()).items) await ai.runs.decide(id, decision, { by: 'you' });

const response = await app.generate({
  model: scriptedModel(app), // With a plugin and a key: googleAI.model('gemini-flash-latest')
  ...gated,
  ...(existsSync(SAVED)
    ? { messages: JSON.parse(readFileSync(SAVED, 'utf8')), resume: {} }
    : { prompt: 'Pay ACME 950.' }),
});
if (response.finishReason === 'interrupted') {
  writeFileSync(SAVED, JSON.stringify(response.messages));
  for (const { title, id } of (await ai.runs.requests()).items) console.log(`Waiting for a decision: ${title} (${id})`);
} else {
  rmSync(SAVED, { force: true });
  console.log(response.text);
}
