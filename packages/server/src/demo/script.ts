// The script of the demo model: rules over the user's last message and the tool results since.

/** A call with its result. */
export type FinishedCall = {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: unknown;
};

/** The input of the rules. */
export type Situation = {
  /** The user's last words. */
  readonly said: string;
  /** The calls since then, in the model's order. */
  readonly finished: readonly FinishedCall[];
  /** The tools that may be called. */
  readonly tools: ReadonlySet<string>;
};

export type Reply = {
  readonly text: string;
  readonly calls: readonly { readonly tool: string; readonly input: Readonly<Record<string, unknown>> }[];
};

/** The same situation gives the same reply. If a tool is missing, the reply says so. */
export function replyTo(situation: Situation): Reply {
  const reply = situation.finished.length === 0 ? answer(situation.said) : goOn(situation);
  return reply.calls.every(({ tool }) => situation.tools.has(tool)) ? reply : say(ABOUT);
}

const say = (text: string): Reply => ({ text, calls: [] });
const ask = (text: string, tool: string, input: Readonly<Record<string, unknown>>): Reply => ({
  text,
  calls: [{ tool, input }],
});

const ABOUT =
  'I am the demo model: no key is set, so I follow a small script instead of thinking. Try "Pay ACME 950 euros for ' +
  'invoice 7", "Pay the open invoices", "Write to Bob that the report is ready", "Plan the team lunch" or "What is on ' +
  'account 4711?".';

const INVOICES = [
  { to: 'Birch Office Supplies', amount: 182.4, currency: 'EUR', reference: 'Invoice 2026-031' },
  { to: 'Lantern Hosting', amount: 1450, currency: 'EUR', reference: 'Invoice 2026-044' },
];

type Rule = { readonly when: RegExp; readonly reply: (words: RegExpExecArray, said: string) => Reply };

const RULES: readonly Rule[] = [
  {
    when: /\binvoices\b/i,
    reply: () => ({
      text: 'Two invoices are open. Each payment waits for your approval.',
      calls: INVOICES.map((input) => ({ tool: 'payInvoice', input })),
    }),
  },
  {
    when: /\b(?:pay|transfer|send)\s+(?<to>[^\d]{1,60}?)\s+(?:€\s*)?(?<amount>\d{1,7}(?:[.,]\d{1,2})?)\s*(?<currency>eur(?:os?)?|usd|dollars?|gbp|pounds?|€|\$|£)?(?:\s+for\s+(?<reference>.{1,80}?))?[.!]?$/iu,
    reply: ({ groups = {} }) =>
      ask('I have prepared the payment. It needs your approval.', 'payInvoice', {
        to: groups.to,
        amount: Number((groups.amount ?? '0').replace(',', '.')),
        currency: currencyOf(groups.currency),
        reference: groups.reference ?? 'As agreed',
      }),
  },
  {
    when: /\blunch\b/i,
    reply: () =>
      ask('Gladly. Which day do you prefer?', 'askQuestion', {
        question: 'On which day shall the team have lunch?',
        choices: ['Tuesday', 'Wednesday', 'Friday'],
      }),
  },
  {
    when: /\b(?:write|mail|e-mail|tell)\b(?:\s+to)?\s+(?<to>\p{L}{2,30})?(?:\s+(?:that\s+)?(?<what>.{1,200}?))?[.!]?$/iu,
    reply: ({ groups = {} }) => {
      const to = groups.to ?? 'Bob';
      const what = groups.what ?? 'the report is ready';
      return ask('This is what I would send.', 'sendMail', {
        to: `${
          to
            .toLowerCase()
            .normalize('NFKD')
            .replaceAll(/[^a-z]/g, '') || 'team'
        }@example.com`,
        subject: capital(what).slice(0, 60),
        body: `Hello ${capital(to)},\n\n${capital(what)}.\n\nBest regards`,
      });
    },
  },
  {
    when: /\baccount\b\D{0,20}(?<account>\d{1,10})?/i,
    reply: ({ groups = {} }) => ask('', 'lookUpAccount', { account: groups.account ?? '4711' }),
  },
  { when: /^(?:hi|hello|hey|good (?:morning|evening))\b/i, reply: () => say(`Hello! ${ABOUT}`) },
];

function answer(said: string): Reply {
  for (const { when, reply } of RULES) {
    const words = when.exec(said.trim());
    if (words) return reply(words, said);
  }
  return say(ABOUT);
}

/** A planned lunch is mailed to the team; every other task ends with a report of its results. */
function goOn({ said, finished }: Situation): Reply {
  const [first, ...later] = finished;
  if (!/\blunch\b/i.test(said) || first?.tool !== 'askQuestion' || typeof first.output !== 'string')
    return say(finished.map(sentence).join(' '));
  if (later.length > 0) return say(later.map(sentence).join(' '));
  return ask(`${first.output} it is. I would tell the team:`, 'sendMail', {
    to: 'team@example.com',
    subject: `Team lunch on ${first.output}`,
    body: `Hello everybody,\n\nour lunch is on ${first.output} at half past twelve.\n\nSee you there`,
  });
}

function sentence({ tool, input, output }: FinishedCall): string {
  const result = isRecord(output) ? output : {};
  switch (tool) {
    case 'payInvoice':
      return typeof result.receipt === 'string'
        ? `Paid ${String(result.amount)} ${String(result.currency)} to ${String(result.to)}, receipt ${result.receipt}.`
        : `Nothing was paid to ${String(input.to)}: ${reasonIn(output)}`;
    case 'sendMail':
      return result.sent === true
        ? `The mail to ${String(result.to)} is on its way.`
        : `No mail was sent to ${String(input.to)}: ${reasonIn(output)}`;
    case 'askQuestion':
      return typeof output === 'string' ? `Understood: ${output}.` : 'Then I leave that open.';
    case 'lookUpAccount':
      return `Account ${String(input.account)} belongs to ${String(result.owner)} and holds ${String(result.balance)} EUR.`;
    default:
      return `${tool} gave ${JSON.stringify(output)}.`;
  }
}

function reasonIn(output: unknown): string {
  if (typeof output === 'string') return output;
  const { error, reason, text } = isRecord(output) ? output : {};
  const said = [error, reason, text].find((value) => typeof value === 'string');
  return typeof said === 'string' ? said : 'it was not approved.';
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function currencyOf(word: string | undefined): string {
  if (/usd|dollar|\$/i.test(word ?? '')) return 'USD';
  return /gbp|pound|£/i.test(word ?? '') ? 'GBP' : 'EUR';
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
