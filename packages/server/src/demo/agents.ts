// The demo agents: an assistant that pays after approval, sends mail, asks a question, and looks something up.
import { createHash } from 'node:crypto';
import { type Agent, type Countersign, z } from 'countersign';

/** An effect of a demo tool, which `onEffect` receives. */
export type DemoEffect = { readonly tool: string; readonly input: unknown; readonly key: string };

export type DemoOptions = { readonly onEffect?: (effect: DemoEffect) => void | Promise<void> };

const ONE_DAY = 24 * 3_600_000;

/** Defines the assistant `assistant` on this instance. Its tools have no effects outside this machine. */
export function demoAgents(ai: Countersign, { onEffect }: DemoOptions = {}): Agent {
  const payInvoice = ai.defineTool(
    {
      name: 'payInvoice',
      description: 'Pays an invoice from the account of the company. A person has to approve it.',
      inputSchema: z.object({
        to: z.string().min(1).max(100).describe('Who gets the money'),
        amount: z.number().positive().max(100_000).describe('How much'),
        currency: z.enum(['EUR', 'USD', 'GBP']),
        reference: z.string().max(140).describe('What the receiver reads'),
      }),
      title: ({ to, amount, currency }) => `Pay ${amount} ${currency} to ${to}`,
      needsApproval: () => ({
        message: 'In this demo, no money moves.',
        risk: 'high',
        labels: ['payments'],
        expiresIn: ONE_DAY,
        onExpiry: 'reject',
      }),
    },
    async (input, { idempotencyKey }) => {
      await onEffect?.({ tool: 'payInvoice', input, key: idempotencyKey });
      return { ...input, receipt: receiptFor(idempotencyKey) };
    },
  );
  const sendMail = ai.defineTool(
    {
      name: 'sendMail',
      description: 'Sends a mail in the name of the user. A person has to approve it.',
      inputSchema: z.object({ to: z.email(), subject: z.string().min(1).max(200), body: z.string().max(5_000) }),
      title: ({ to, subject }) => `Send “${subject.slice(0, 100)}” to ${to.slice(0, 60)}`,
      needsApproval: () => ({ message: 'It goes out under your name.', risk: 'low', labels: ['mail'] }),
    },
    async ({ to, subject, body }, { idempotencyKey }) => {
      await onEffect?.({ tool: 'sendMail', input: { to, subject, body }, key: idempotencyKey });
      return { to, subject, sent: true };
    },
  );
  const askQuestion = ai.defineInterrupt({
    name: 'askQuestion',
    description: 'Asks the user a question with a few choices.',
    inputSchema: z.object({ question: z.string(), choices: z.array(z.string()).min(2) }),
    outputSchema: z.string().min(1).max(500),
  });
  const lookUpAccount = ai.defineTool(
    {
      name: 'lookUpAccount',
      description: 'Tells who owns an account and what it holds.',
      inputSchema: z.object({ account: z.string().regex(/^\d{1,10}$/) }),
      idempotent: true,
    },
    ({ account }) => ({
      account,
      owner: OWNERS[Number(account) % OWNERS.length],
      balance: ((Number(account) * 7919) % 1_000_000) / 100,
    }),
  );
  return ai.defineAgent({
    name: 'assistant',
    description: 'Pays invoices, writes mails and looks up accounts; it asks before it acts.',
    suggestions: [
      'Pay ACME 950 euros for invoice 7',
      'Pay Birch 182.40 euros for paper and Lantern 1450 euros for hosting',
      'Write to Bob that the report is ready',
      'Ask me which day suits: Tuesday or Friday',
    ],
    system: SYSTEM,
    tools: [payInvoice, sendMail, askQuestion, lookUpAccount],
  });
}

const OWNERS = ['Ada Lindqvist', 'Tomás Herrera', 'Mei Tanaka', 'Birch Office Supplies', 'Lantern Hosting'];

const SYSTEM = `You are the assistant of a small company. Be brief and friendly.
Open invoices: Birch Office Supplies, 182.40 EUR, Invoice 2026-031; Lantern Hosting, 1450 EUR, Invoice 2026-044.
Bob is bob@example.com, the team is team@example.com. Pay several invoices with several calls at once.
Payments and mails are shown to a person for approval by the app: call the tool, do not ask for permission first.
When you need to know something, ask with askQuestion and offer choices.`;

const receiptFor = (key: string): string =>
  `R-${createHash('sha256').update(key).digest('hex').slice(0, 8).toUpperCase()}`;
