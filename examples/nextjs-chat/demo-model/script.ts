// What the demonstration model says: rules on the user's last words and on what its tools have returned since.

/** A call with its result, if it has one. */
export type DoneCall = {
  readonly name: string;
  readonly input: unknown;
  readonly result:
    | { readonly type: 'output'; readonly output: unknown }
    | { readonly type: 'failure'; readonly text: string };
};

/** All that the rules look at. */
export type Situation = {
  /** The user's last words. */
  readonly said: string;
  /** The calls since then, in order. */
  readonly done: readonly DoneCall[];
  /** The tools that the model may call. */
  readonly tools: ReadonlySet<string>;
};

export type Turn = {
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly input: object }[];
};

/** The next turn. The same situation gives the same turn. */
export function nextTurn(situation: Situation): Turn {
  const { done, tools } = situation;
  const turn = done.length === 0 ? begin(situation) : goOn(situation);
  const known = turn.calls.filter(({ name }) => tools.has(name));
  return known.length === turn.calls.length ? turn : say(HELP);
}

const say = (text: string): Turn => ({ text, calls: [] });

const INVOICES = [
  { to: 'Northwind Paper', amount: 420.5, currency: 'EUR', reference: 'INV-1042' },
  { to: 'Contoso Hosting', amount: 1280, currency: 'EUR', reference: 'INV-1043' },
];

const HELP =
  'I am a demonstration model: I follow a small script instead of thinking. Ask me to pay the two invoices, to write Bob a mail, to plan the team lunch, or about the weather or the time in a city.';

function begin({ said, tools }: Situation): Turn {
  if (/invoices/i.test(said))
    return {
      text: 'There are two open invoices. I can pay both, and each payment needs your approval.',
      calls: INVOICES.map((input) => ({ name: 'transferMoney', input })),
    };
  const payment = PAYMENT.exec(said);
  if (payment) {
    const [, quoted, plain, amount] = payment;
    const input = { to: quoted ?? plain, amount: Number(amount), currency: 'EUR', reference: 'As you asked' };
    return { text: 'I have prepared this payment.', calls: [{ name: 'transferMoney', input }] };
  }
  if (/lunch/i.test(said))
    return { text: 'Happy to. One thing I need to know first:', calls: [{ name: 'askQuestion', input: LUNCH }] };
  if (/ask me|question/i.test(said)) return { text: 'With pleasure.', calls: [{ name: 'askQuestion', input: COFFEE }] };
  if (/mail|write/i.test(said)) return { text: 'Here is a draft.', calls: [{ name: 'sendMail', input: REPORT }] };
  const city = PLACE.exec(said)?.[1] ?? 'Paris';
  if (/weather/i.test(said)) {
    const name = tools.has('getWeather') ? 'getWeather' : 'getWeatherInformation';
    return { text: '', calls: [{ name, input: { city } }] };
  }
  if (/time/i.test(said)) return { text: '', calls: [{ name: 'getLocalTime', input: { location: city } }] };
  if (/^(hi|hello|hey)\b/i.test(said)) return say(`Hello! ${HELP}`);
  return say(HELP);
}

const PAYMENT = /\b(?:pay|transfer)\s+(?:"([^"]+)"|(\p{L}+))\s+(\d+(?:\.\d+)?)/iu;
const PLACE = /\bin\s+(\p{Lu}[\p{L}\s-]*\p{L})/u;

const LUNCH = {
  question: 'Which day suits you for the team lunch?',
  choices: ['Tuesday', 'Wednesday', 'Friday'],
  allowOther: true,
};
const COFFEE = {
  question: 'How do you take your coffee?',
  choices: ['Black', 'With milk', 'I prefer tea'],
  allowOther: true,
};
const REPORT = {
  to: 'bob@example.com',
  subject: 'The report',
  body: 'Hi Bob,\n\nthe report is ready. Shall we go through it on Thursday?\n\nBest regards',
};

function goOn({ said, done }: Situation): Turn {
  const [answer] = done;
  if (/lunch/i.test(said) && done.length === 1 && answer?.name === 'askQuestion' && answer.result.type === 'output') {
    const day = String(answer.result.output);
    const mail = {
      to: 'team@example.com',
      subject: `Team lunch: ${day}`,
      body: `Hello everyone,\n\nlet us have lunch together: ${day}, 12:30.\n\nSee you there`,
    };
    return { text: `${day} it is. I would tell the team:`, calls: [{ name: 'sendMail', input: mail }] };
  }
  return say(done.map(sentenceFor).join('\n'));
}

function sentenceFor({ name, input, result }: DoneCall): string {
  const about = input as { readonly [key: string]: unknown };
  if (result.type === 'failure') return failureSentence(name, about, result.text);
  const output = result.output as { readonly [key: string]: unknown };
  switch (name) {
    case 'transferMoney':
      return `Paid ${money(output)} to ${output.to}; the receipt is ${output.receipt}.`;
    case 'sendMail':
      return `Your mail “${output.subject}” is on its way to ${output.to}.`;
    case 'askQuestion':
      return `Noted: ${result.output}.`;
    case 'getWeather':
      return `It is ${output.sky} in ${output.city}, ${output.celsius} °C.`;
    case 'getLocalTime':
      return `The local time in ${about.location} is ${result.output}.`;
    default:
      return String(result.output);
  }
}

function failureSentence(name: string, about: { readonly [key: string]: unknown }, text: string): string {
  const reason = /Reason: (.+)$/s.exec(text)?.[1];
  const because = reason === undefined ? '' : ` (${reason})`;
  switch (name) {
    case 'transferMoney':
      return `I have not paid ${about.to}${because}.`;
    case 'sendMail':
      return `I have not sent the mail to ${about.to}${because}.`;
    case 'askQuestion':
      return 'Then we leave that question open.';
    default:
      return `That did not work: ${text}`;
  }
}

const money = ({ amount, currency }: { readonly [key: string]: unknown }): string =>
  `${Number(amount).toLocaleString('en', { minimumFractionDigits: 2 })} ${currency}`;
