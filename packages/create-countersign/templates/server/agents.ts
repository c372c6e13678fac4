// Your agents. `countersign dev` loads this file, and reloads it when you change it.
//
// `model` is a stand-in that needs no key and picks tools by the words of a message. To use a real one, install its provider and
// set its key:
//   npm install @ai-sdk/openai
//   OPENAI_API_KEY=sk-… COUNTERSIGN_MODEL=openai/gpt-5 npx countersign dev
import type { AgentsEnvironment } from '@countersign/server';
import { type Countersign, countersign, z } from 'countersign';

export default ({ store, model, providers }: AgentsEnvironment): Countersign => {
  const ai = countersign({ store, model, providers });

  const payInvoice = ai.defineTool(
    {
      name: 'payInvoice',
      description: 'Pays an invoice from the company account.',
      inputSchema: z.object({
        to: z.string(),
        amount: z.number().positive(),
        currency: z.enum(['EUR', 'USD', 'GBP']),
        reference: z.string(),
      }),
      // The headline of the request.
      title: ({ to, amount, currency }) => `Pay ${amount} ${currency} to ${to}`,
      // The gate: `false` runs the call at once, anything else makes it wait for a person.
      needsApproval: ({ amount }) =>
        amount > 100 && { message: 'Payments above 100 need your approval.', risk: 'high' },
    },
    // Your bank goes here. Pass it `idempotencyKey`, so that it can recognize a repeated payment.
    (payment, { idempotencyKey }) => ({ ...payment, receipt: idempotencyKey }),
  );

  ai.defineAgent({
    name: 'clerk',
    system: 'You pay invoices. Call payInvoice; do not ask first.',
    // What the chat offers to press.
    suggestions: ['Pay ACME 950 euros for invoice 7', 'Pay Birch 20 euros for coffee'],
    tools: [payInvoice],
  });
  return ai;
};
