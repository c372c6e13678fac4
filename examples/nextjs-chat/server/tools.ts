// The tools of the assistant: two that a person has to approve, one that asks a person, one that just runs.
import { interrupt, tool, z } from 'countersign';
import type { Bank } from './bank.ts';

const HALF_AN_HOUR = 30 * 60 * 1000;

export function createTools(bank: Bank) {
  const transferMoney = tool(
    {
      name: 'transferMoney',
      description: 'Transfers money from the account of the company.',
      inputSchema: z.object({
        to: z.string().min(1).describe('Who gets the money'),
        amount: z.number().positive().max(10_000),
        currency: z.enum(['EUR', 'USD', 'GBP']),
        reference: z.string().describe('What the receiver reads'),
      }),
      title: ({ to, amount, currency }) => `Transfer ${amount} ${currency} to ${to}`,
      needsApproval: () => ({ message: 'This moves money and cannot be undone.' }),
      risk: 'high',
      labels: ['payments'],
      expiresIn: HALF_AN_HOUR,
      onExpiry: 'reject',
      verify: async (input, { idempotencyKey }) => {
        const receipt = await bank.find(idempotencyKey);
        return receipt === undefined ? undefined : { output: { ...input, receipt } };
      },
    },
    async (input, { idempotencyKey }) => ({ ...input, receipt: await bank.transfer(input, idempotencyKey) }),
  );

  const sendMail = tool(
    {
      name: 'sendMail',
      description: 'Sends a mail in the name of the user.',
      inputSchema: z.object({
        to: z.email(),
        subject: z.string().max(200),
        body: z.string().max(5000),
      }),
      title: ({ to, subject }) => `Send “${subject.slice(0, 100)}” to ${to}`,
      needsApproval: () => ({ message: 'It goes out under your name.' }),
      risk: 'low',
    },
    // No mail leaves a demonstration.
    ({ to, subject }) => ({ to, subject, sent: true }),
  );

  const askQuestion = interrupt({
    name: 'askQuestion',
    description: 'Asks the user a question with a few choices.',
    inputSchema: z.object({
      question: z.string(),
      choices: z.array(z.string()).describe('The choices to show'),
      allowOther: z.boolean().optional().describe('Whether the user may write a free answer'),
    }),
    outputSchema: z.string(),
  });

  const getWeather = tool(
    {
      name: 'getWeather',
      description: 'Tells how the weather is in a city.',
      inputSchema: z.object({ city: z.string() }),
      idempotent: true,
    },
    ({ city }) => ({ city, sky: SKIES[city.length % SKIES.length], celsius: 12 + (city.length % 9) }),
  );

  return { transferMoney, sendMail, askQuestion, getWeather };
}

const SKIES = ['sunny', 'cloudy', 'rainy', 'windy'];
