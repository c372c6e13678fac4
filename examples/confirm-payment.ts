// A tool that asks before it sends more than $100, and is restarted with the answer.
// Run it with: node examples/confirm-payment.ts
import { countersign, type ModelInput, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { type Terminal, terminal } from './terminal.ts';

type Transfer = { readonly toAccountId: string; readonly amount: number };

export async function confirmPayment(model: ModelInput, { ask, print }: Terminal) {
  const ai = countersign({ model });
  const transfers: Transfer[] = [];

  const transferMoney = ai.defineTool(
    {
      name: 'transferMoney',
      description: 'Transfers money between accounts.',
      inputSchema: z.object({
        toAccountId: z.string().describe('the account id of the transfer destination'),
        amount: z.number().int().positive().describe('the amount in integer cents (100 = $1.00)'),
      }),
      outputSchema: z.object({ status: z.string(), message: z.string().optional() }),
    },
    async (input, { interrupt, resumed }) => {
      if (resumed?.status === 'REJECTED') return { status: 'REJECTED', message: 'The user rejected the transaction.' };
      if (resumed?.status !== 'APPROVED' && input.amount > 10000)
        interrupt({ message: 'Please confirm sending an amount > $100.' });
      transfers.push(input);
      return { status: 'DONE' };
    },
  );

  let response = await ai.generate({ tools: [transferMoney], prompt: 'Transfer $1000 to account ABC123' });

  while (response.interrupts.length > 0) {
    const confirmations = [];
    for (const interrupt of response.interrupts) {
      const { amount, toAccountId } = interrupt.toolRequest.input;
      const answer = await ask(`Send ${dollars(amount)} to ${toAccountId}?`, ['yes', 'no']);
      confirmations.push(transferMoney.restart(interrupt, { status: answer === 'yes' ? 'APPROVED' : 'REJECTED' }));
    }
    response = await ai.generate({
      tools: [transferMoney],
      messages: response.messages,
      resume: { restart: confirmations },
    });
  }

  print(response.text);
  print(`Transfers made: ${transfers.length}`);
  return transfers;
}

const dollars = (cents: number): string => `$${(cents / 100).toFixed(2)}`;

export const transferScript = () =>
  scriptedModel([
    { calls: [{ name: 'transferMoney', input: { toAccountId: 'ABC123', amount: 100_000 } }] },
    ({ messages }) => {
      const [part] = messages.at(-1)?.content ?? [];
      const done = part && 'toolResponse' in part && part.toolResponse.output.status === 'DONE';
      return done ? 'I sent $1000 to ABC123.' : 'As you wished, I sent nothing.';
    },
  ]);

if (import.meta.main) await confirmPayment(transferScript(), terminal);
