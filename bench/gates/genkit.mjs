// Genkit: a generation that is interrupted. Bare, the tool calls `interrupt()`.
import { gateTools } from 'countersign/genkit';
import { genkit, z } from 'genkit/beta';
import { logger } from 'genkit/logging';
import { makePlan, makeTools, PROMPT } from '../lib/plan.mjs';

const silent = () => {};
logger.init({ debug: silent, info: silent, warn: silent, error: silent, level: 'error' });

export function open(gate) {
  const impl = makeTools();
  const app = genkit({});
  const lookup = app.defineTool(
    { name: 'lookup', description: 'lookup', inputSchema: z.object({ key: z.string() }), outputSchema: z.any() },
    async (i) => impl.lookup(i),
  );
  const transfer = app.dynamicTool(
    {
      name: 'transfer',
      description: 'transfer',
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      outputSchema: z.any(),
    },
    async (i, { interrupt, resumed }) => {
      if (!gate && !resumed) interrupt();
      return impl.transfer(i);
    },
  );
  const plain = [lookup, transfer];
  const models = {
    approved: modelOf(app, 'approved', makePlan('approve')),
    ungated: modelOf(app, 'ungated', makePlan('loop', 1)),
  };
  let conversations = 0;
  const toolsOf = (key) => (gate ? gateTools(plain, { ai: gate.ai, key, approve: ['transfer'] }) : { tools: plain });
  return {
    counts: impl.counts,
    async approved() {
      const tools = toolsOf(`conversation-${++conversations}`);
      const { messages } = await app.generate({ model: models.approved, prompt: PROMPT, ...tools });
      await gate?.approve();
      const waiting = messages.at(-1).content.filter((part) => part.metadata?.interrupt);
      const resume = gate ? {} : { restart: waiting.map((part) => transfer.restart(part)) };
      return (await app.generate({ model: models.approved, messages, resume, ...tools })).text;
    },
    ungated: async () =>
      (await app.generate({ model: models.ungated, prompt: PROMPT, ...toolsOf(`conversation-${++conversations}`) }))
        .text,
  };
}

function modelOf(app, name, plan) {
  return app.defineModel({ name, supports: { tools: true, multiturn: true } }, async ({ messages }) => {
    const { calls, text } = plan.next(messages.at(-1).role === 'tool');
    const content = calls
      ? calls.map(({ id, name, args }) => ({ toolRequest: { name, ref: id.padEnd(12, '0'), input: args } }))
      : [{ text }];
    return { message: { role: 'model', content }, finishReason: 'stop' };
  });
}
