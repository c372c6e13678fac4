// The chat: an agent that pays bills, and the route that the page speaks to, inside the server of Vite.
import { appendFile } from 'node:fs/promises';
import { countersign, memoryStore, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { chatRoute, nodeHandler } from 'countersign/ui';
import type { Connect, Plugin } from 'vite';

/** Without a key: it pays what the user names, such as “Pay ACME 250”. Put a provider's model in its place. */
const model = scriptedModel(({ messages }) => {
  const last = messages.at(-1);
  if (last?.role === 'tool')
    return `The tool said: ${JSON.stringify(last.content.map((part) => 'toolResponse' in part && part.toolResponse.output))}`;
  const said = last?.content.map((part) => ('text' in part ? part.text : '')).join(' ') ?? '';
  const [, to, amount] = /pay (.+) (\d+)/i.exec(said) ?? [];
  if (to === undefined) return 'Ask me to pay something, such as “Pay ACME 250”.';
  return { calls: [{ name: 'pay', input: { to, amount: Number(amount) } }] };
});

const ai = countersign({ model, store: memoryStore() });

const pay = ai.defineTool(
  {
    name: 'pay',
    description: 'Pays a bill, in euros.',
    inputSchema: z.object({ to: z.string(), amount: z.number().max(1000) }),
    title: ({ to, amount }) => `Pay €${amount} to ${to}`,
    needsApproval: () => ({ message: 'This moves money.', risk: 'high' }),
  },
  async (payment, { idempotencyKey }) => {
    await appendFile(process.env.PAYMENTS ?? 'payments.jsonl', `${JSON.stringify({ ...payment, idempotencyKey })}\n`);
    return `Paid ${payment.amount} to ${payment.to}.`;
  },
);

const agent = ai.defineAgent({ name: 'assistant', system: 'You pay bills.', tools: [pay] });
/** Every visitor is the same user here. In your app, `authorize` says who asks. */
const answer = nodeHandler(chatRoute(agent, { demo: true, client: 7 }));

export function chatServer(): Plugin {
  const route: Connect.NextHandleFunction = (request, response, next) =>
    request.url?.startsWith('/api/chat') ? void answer(request, response) : next();
  return {
    name: 'chat-server',
    configureServer: ({ middlewares }) => void middlewares.use(route),
    configurePreviewServer: ({ middlewares }) => void middlewares.use(route),
  };
}
