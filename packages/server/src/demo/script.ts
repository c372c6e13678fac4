// The script of the demo model: rules over the user's last message and the tool results since.

type Fields = Readonly<Record<string, unknown>>;

/** A call with its result. */
export type FinishedCall = { readonly tool: string; readonly input: Fields; readonly output: unknown };

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
  readonly calls: readonly { readonly tool: string; readonly input: Fields }[];
};

/** The same situation gives the same reply. If a tool is missing, the reply says so. */
export function replyTo(situation: Situation): Reply {
  const reply = situation.finished.length === 0 ? answer(situation.said) : goOn(situation);
  return reply.calls.every(({ tool }) => situation.tools.has(tool)) ? reply : say(ABOUT);
}

const say = (text: string): Reply => ({ text, calls: [] });
const ask = (text: string, tool: string, ...inputs: readonly Fields[]): Reply => ({
  text,
  calls: inputs.map((input) => ({ tool, input })),
});

const ABOUT =
  'I am the demo model: no key is set, so I follow a small script instead of thinking. Try "Pay ACME 950 euros for ' +
  'invoice 7", "Pay the open invoices", "Write to Bob that the report is ready", "Plan the team lunch" or "What is on ' +
  'account 4711?".';

const INVOICES = [
  { to: 'Birch Office Supplies', amount: 182.4, currency: 'EUR', reference: 'Invoice 2026-031' },
  { to: 'Lantern Hosting', amount: 1450, currency: 'EUR', reference: 'Invoice 2026-044' },
];

type Rule = readonly [when: RegExp, reply: (words: Readonly<Record<string, string | undefined>>) => Reply];

const RULES: readonly Rule[] = [
  [
    /\binvoices\b/i,
    () => ask('Two invoices are open. Each payment waits for your approval.', 'payInvoice', ...INVOICES),
  ],
  [
    /\bpay\s+(?<to>[^\d]{1,60}?)\s+(?<amount>\d{1,7}(?:\.\d{1,2})?)\s*(?<currency>euros?|dollars?|pounds?)?(?:\s+for\s+(?<reference>.{1,80}?))?[.!]?$/iu,
    ({ to, amount, currency = 'euros', reference = 'As agreed' }) =>
      ask('I have prepared the payment. It needs your approval.', 'payInvoice', {
        to,
        amount: Number(amount),
        currency: CURRENCIES[currency.toLowerCase().replace(/s$/, '')],
        reference,
      }),
  ],
  [
    /\blunch\b/i,
    () =>
      ask('Gladly. Which day do you prefer?', 'askQuestion', {
        question: 'On which day shall the team have lunch?',
        choices: ['Tuesday', 'Wednesday', 'Friday'],
      }),
  ],
  [
    /\bwrite\s+to\s+(?<to>[a-z]{2,30})\s+that\s+(?<what>.{1,200}?)[.!]?$/iu,
    ({ to = '', what = '' }) =>
      ask('This is what I would send.', 'sendMail', {
        to: `${to.toLowerCase()}@example.com`,
        subject: capital(what).slice(0, 60),
        body: `Hello ${capital(to)},\n\n${capital(what)}.\n\nBest regards`,
      }),
  ],
  [/\baccount\b\D{0,20}(?<account>\d{1,10})/i, ({ account }) => ask('', 'lookUpAccount', { account })],
];

const CURRENCIES: Readonly<Record<string, string>> = { euro: 'EUR', dollar: 'USD', pound: 'GBP' };

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function answer(said: string): Reply {
  for (const [when, reply] of RULES) {
    const words = when.exec(said.trim());
    if (words) return reply(words.groups ?? {});
  }
  return say(ABOUT);
}

/** A planned lunch is mailed to the team; every other task ends with a report of its results. */
function goOn({ said, finished }: Situation): Reply {
  const [first] = finished;
  const day = first?.tool === 'askQuestion' && /\blunch\b/i.test(said) ? first.output : undefined;
  if (typeof day !== 'string') return say(finished.map(sentence).join(' '));
  if (finished.length > 1) return say(finished.slice(1).map(sentence).join(' '));
  return ask(`${day} it is. I would tell the team:`, 'sendMail', {
    to: 'team@example.com',
    subject: `Team lunch on ${day}`,
    body: `Hello everybody,\n\nour lunch is on ${day} at half past twelve.\n\nSee you there`,
  });
}

/** The output of a call that did not run is a text that says why. */
function sentence({ tool, input, output }: FinishedCall): string {
  const result = (output ?? {}) as Fields;
  switch (tool) {
    case 'payInvoice':
      return result.receipt === undefined
        ? `Nothing was paid to ${input.to}: ${output}`
        : `Paid ${result.amount} ${result.currency} to ${result.to}, receipt ${result.receipt}.`;
    case 'sendMail':
      return result.sent === true
        ? `The mail to ${result.to} is on its way.`
        : `No mail was sent to ${input.to}: ${output}`;
    case 'lookUpAccount':
      return `Account ${input.account} belongs to ${result.owner} and holds ${result.balance} EUR.`;
    default:
      return `${tool} gave ${JSON.stringify(output)}.`;
  }
}
