// The tools, as the AI SDK has them. `needsApproval` says which calls wait.
import { tool } from 'ai';
import { z } from 'zod';

/** Every payment that was made. */
export const payments: { to: string; amount: number }[] = [];

export const tools = {
  pay: tool({
    description: 'Pays a bill.',
    inputSchema: z.object({ to: z.string(), amount: z.number().positive() }),
    needsApproval: ({ amount }) => amount > 100,
    // Your bank goes here. Pass it `toolCallId`, so that it can recognize a repeated payment.
    execute: (payment, { toolCallId }) => {
      payments.push(payment);
      return `Paid ${payment.amount} to ${payment.to}, receipt ${toolCallId}.`;
    },
  }),
};
