// The agent: its tools, and which of their calls wait for a person.
import { type Agent, type Countersign, type CountersignOptions, countersign, z } from 'countersign';

export function createAgent(options: CountersignOptions): { readonly ai: Countersign; readonly agent: Agent } {
  const ai = countersign(options);
  const pay = ai.defineTool(
    {
      name: 'pay',
      description: 'Pays a bill, in euros.',
      inputSchema: z.object({ to: z.string(), amount: z.number().positive().max(10_000) }),
      // The headline of the request.
      title: ({ to, amount }) => `Pay €${amount} to ${to}`,
      // The gate: `false` runs the call at once, anything else makes it wait for a person.
      needsApproval: ({ amount }) =>
        amount > 100 && { message: 'This moves money and cannot be undone.', risk: 'high' },
    },
    // Your bank goes here. Pass it `idempotencyKey`, so that it can recognize a repeated payment.
    ({ to, amount }, { idempotencyKey }) => `Paid ${amount} euros to ${to}, receipt ${idempotencyKey}.`,
  );
  return { ai, agent: ai.defineAgent({ name: 'assistant', system: 'You pay bills. Be brief.', tools: [pay] }) };
}
