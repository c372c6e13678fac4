// An agent as a tool of another: when the treasurer must ask, the planner pauses, and the question appears at the root.
// Run it with: node examples/sub-agent.ts
import { countersign, type ModelInput, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { type Terminal, terminal } from './terminal.ts';

export async function planWithTreasurer(model: ModelInput, { ask, print }: Terminal) {
  const ai = countersign({ model });
  const paid: { to: string; amount: number }[] = [];

  const pay = ai.defineTool(
    {
      name: 'pay',
      description: 'Pays a bill.',
      inputSchema: z.object({ to: z.string(), amount: z.number().describe('in dollars') }),
      needsApproval: ({ amount }) => amount > 100,
    },
    (bill) => {
      paid.push(bill);
      return { status: 'PAID' };
    },
  );

  const treasurer = ai.defineAgent({
    name: 'treasurer',
    description: 'Pays the bills of a party.',
    system: 'You are careful with money.',
    tools: [pay],
  });

  const planner = ai.defineAgent({ name: 'planner', system: 'You plan parties.', tools: [treasurer] });

  let response = await planner.generate('Order meat and bread for the barbecue.');
  while (response.interrupts.length > 0) {
    const approve = [];
    const reject = [];
    for (const interrupt of response.interrupts) {
      const { to, amount } = interrupt.toolRequest.input;
      const answer = await ask(`The treasurer wants to pay $${amount} to the ${to}. All right?`, ['yes', 'no']);
      if (answer === 'yes') approve.push(pay.approve(interrupt));
      else reject.push(pay.reject(interrupt, 'Too much.'));
    }
    // The decisions are made at the root, and the treasurer continues.
    response = await planner.generate({ messages: response.messages, resume: { approve, reject } });
  }

  print(response.text);
  for (const { to, amount } of paid) print(`Paid: $${amount} to the ${to}`);
  return { paid, response };
}

/** The replies of the planner and the treasurer, in order. */
export const treasurerScript = () =>
  scriptedModel([
    { calls: [{ name: 'treasurer', input: { prompt: 'Pay the butcher $140 and the baker $30.' } }] },
    {
      calls: [
        { name: 'pay', input: { to: 'butcher', amount: 140 } },
        { name: 'pay', input: { to: 'baker', amount: 30 } },
      ],
    },
    ({ messages }) => {
      const results = messages.at(-1)?.content ?? [];
      const refused = results.some((part) => part.metadata?.outcome === 'rejected');
      return refused ? 'Only the baker is paid.' : 'Both are paid.';
    },
    ({ messages }) => {
      const [part] = messages.at(-1)?.content ?? [];
      return `The treasurer says: ${part && 'toolResponse' in part ? part.toolResponse.output : ''}`;
    },
  ]);

if (import.meta.main) await planWithTreasurer(treasurerScript(), terminal);
