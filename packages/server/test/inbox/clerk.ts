// The agent of the desk: it makes the calls that it is told to make.
import { type Countersign, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';

/** A call for the agent to make, with its input. */
export type Call = readonly [tool: string, input: unknown];

/** What a tool has done. */
export type Effect = { readonly tool: string; readonly input: unknown };

const DAY = 24 * 3_600_000;

export function defineClerk(ai: Countersign, done: Effect[]): void {
  const pay = ai.defineTool(
    {
      name: 'pay',
      description: 'Moves money.',
      inputSchema: z.object({ to: z.string(), amount: z.number().max(1_000), note: z.string().optional() }),
      needsApproval: ({ amount }) =>
        amount > 100 && { message: `Pay ${amount}?`, risk: 'high', labels: ['money'], expiresIn: DAY },
    },
    (input) => {
      done.push({ tool: 'pay', input });
      return { receipt: `for ${input.to}` };
    },
  );
  const publish = ai.defineTool(
    {
      name: 'publish',
      description: 'Publishes a text.',
      inputSchema: z.any(),
      needsApproval: () => ({ risk: 'low', labels: ['press'] }),
      reversibility: 'irreversible',
      preview: () => [
        { page: 'Press', readers: 1_200, address: 'https://example.com/press' },
        { page: 'Home', readers: 56_000 },
      ],
    },
    (input) => {
      done.push({ tool: 'publish', input });
      return 'published';
    },
  );
  const askAddress = ai.defineInterrupt({
    name: 'askAddress',
    description: 'Asks for an address.',
    inputSchema: z.object({ question: z.string() }),
    outputSchema: z.object({ street: z.string().min(1), zip: z.string().regex(/^\d{5}$/), express: z.boolean() }),
  });
  const choose = ai.defineInterrupt({
    name: 'choose',
    description: 'Lets the user choose.',
    inputSchema: z.object({ question: z.string(), choices: z.array(z.string()) }),
    outputSchema: z.string(),
  });
  const look = ai.defineTool({ name: 'look', description: 'Looks.', inputSchema: z.any() }, () => 'seen');
  ai.defineAgent({
    name: 'clerk',
    description: 'Does what it is told.',
    model: obedient(),
    tools: [pay, publish, askAddress, choose, look],
  });
}

/** The user's message holds the calls as JSON; the run ends with their results. */
const obedient = () =>
  scriptedModel(({ messages }) => {
    const last = messages.findLastIndex(({ role }) => role === 'user');
    if (messages.slice(last + 1).some(({ role }) => role === 'tool')) return 'All done.';
    const said = messages[last]?.content.map((part) => ('text' in part ? part.text : '')).join('') ?? '';
    const calls = JSON.parse(said) as readonly Call[];
    const usage = { inputTokens: 12_000, outputTokens: 345 };
    return { text: 'I need your decision.', calls: calls.map(([name, input]) => ({ name, input })), usage };
  });
