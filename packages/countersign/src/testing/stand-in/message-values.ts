// The values in a message: numbers, e-mail addresses, dates, quoted texts, names, and the phrases after words such as `to`.
import { stemOf, wordsOf } from './words.ts';

/** A number, with the words around it. */
export type FoundNumber = {
  readonly value: number;
  readonly isMoney: boolean;
  /** It is the number of something, as in `invoice 7`, and not an amount. */
  readonly isIdentifier: boolean;
  /** Stems of the word before and the word after. */
  readonly beside: readonly string[];
};

export type MessageValues = {
  /** The part of the message that asks for this call. */
  readonly text: string;
  readonly numbers: readonly FoundNumber[];
  readonly emails: readonly string[];
  /** Addresses that the conversation names, such as the system prompt. */
  readonly knownEmails: readonly string[];
  readonly urls: readonly string[];
  /** As `2026-05-01`. */
  readonly dates: readonly string[];
  readonly times: readonly string[];
  readonly quotes: readonly string[];
  /** Words with a digit, such as `INV-7`. */
  readonly codes: readonly string[];
  /** Capitalized names. */
  readonly names: readonly string[];
  /** The text after the first word, up to a number or a preposition: `ACME` in `Pay ACME 950 for paper`. */
  readonly object: string | undefined;
  /** The items of a list with `or`, or after a colon. */
  readonly choices: readonly string[];
  /** The phrase after this word, such as `to`, `for` or `about`. */
  after(lead: string): string | undefined;
  /** The value after a property's own name: `high` in `priority high`. */
  labelled(name: readonly string[]): string | undefined;
};

/**
 * Words that belong to the tool: `labels` are its properties, which end a phrase, and `verb` its name, which is not a value. `known`
 * is what else was said.
 */
export type ToolWords = {
  readonly labels: readonly string[];
  readonly verb: readonly string[];
  readonly known: string;
};

export function messageValues(
  text: string,
  { labels, verb, known }: ToolWords = { labels: [], verb: [], known: '' },
): MessageValues {
  const end = phraseEnd(labels);
  const quotes = [...text.matchAll(/"([^"]+)"|“([^”]+)”/g)].map(([, straight, curly]) => straight ?? curly ?? '');
  const dates = datesOf(text);
  const times = text.match(/\b\d{1,2}:\d{2}\b/g) ?? [];
  const emails = text.match(EMAIL) ?? [];
  const urls = text.match(/https?:\/\/[^\s"”)]+/g) ?? [];
  const rest = [...quotes, ...emails, ...urls].reduce((left, found) => left.replace(found, ' '), text);
  return {
    text,
    quotes,
    dates,
    times,
    emails,
    knownEmails: known.match(EMAIL) ?? [],
    urls,
    numbers: numbersOf(rest.replace(DATE, ' ').replace(/\b\d{1,2}:\d{2}\b/g, ' ')),
    codes: (rest.replace(DATE, ' ').match(/#?[\p{L}\d]+(?:[-/_][\p{L}\d]+)*/gu) ?? [])
      .map((word) => word.replace(/^#/, ''))
      .filter((word) => /\d/.test(word)),
    names: namesOf(rest),
    object: objectOf(rest, end, verb),
    choices: choicesOf(text),
    after: (lead) => phraseAfter(text, lead, end),
    labelled: (name) => labelledBy(text, name, end),
  };
}

const EMAIL = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g;

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DATE =
  /\b(\d{4})-(\d{2})-(\d{2})\b|\b(\d{1,2})\.? (\p{L}{3})\p{L}*\.?,? (\d{4})\b|\b(\p{L}{3})\p{L}* (\d{1,2}),? (\d{4})\b/gu;

function datesOf(text: string): readonly string[] {
  return [...text.matchAll(DATE)].flatMap(([all, isoYear, , , day, month, year, monthFirst, dayNext, yearLast]) => {
    if (isoYear !== undefined) return [all];
    const number = MONTHS.indexOf((month ?? monthFirst ?? '').toLowerCase()) + 1;
    if (number === 0) return [];
    const two = (value: string | number) => String(value).padStart(2, '0');
    return [`${year ?? yearLast}-${two(number)}-${two(day ?? dayNext ?? 1)}`];
  });
}

const MONEY = /^(?:€|\$|£|eur|euros?|usd|dollars?|gbp|pounds?|cents?|chf|francs?)$/i;

function numbersOf(text: string): readonly FoundNumber[] {
  return [...text.matchAll(NUMBER)].map(({ index, 1: symbol, 2: digits = '', 3: next = '' }) => {
    const previous = /(\p{L}+)\W*$/u.exec(text.slice(Math.max(0, index - 40), index));
    const [before, at] = previous ? [previous[1] ?? '', previous.index] : ['', 0];
    return {
      value: Number(digits.replaceAll(',', '')),
      isMoney: symbol !== undefined || MONEY.test(next),
      // `Order 3 chairs` begins with a verb.
      isIdentifier: at > 0 && NUMBERED.has(stemOf(before.toLowerCase())),
      beside: [before, next].filter((word) => word !== '').flatMap((word) => wordsOf(word).map(stemOf)),
    };
  });
}

const NUMBERED: ReadonlySet<string> = new Set(
  'invoice order account number no ticket room case issue version chapter page'.split(' ').map(stemOf),
);

/** A thing or a date, and no name of a person or a company: `invoice 7`, `the bill`, `May`, `it`. */
export const isThing = (phrase: string): boolean => {
  const [first = ''] = wordsOf(phrase);
  return NUMBERED.has(stemOf(first)) || THINGS.has(first) || (first.length > 2 && MONTHS.includes(first.slice(0, 3)));
};

const THINGS: ReadonlySet<string> = new Set(
  'bill payment money it them this that these those him her us me all everything something'.split(' '),
);

/** Not the digits of a code such as `INV-7`. */
const NUMBER = /(?<![\p{L}\d.,_/-])([€$£])?\s?(-?\d[\d,]*(?:\.\d+)?)(?![\d_])(?!-?\p{L}*\d)\s?([€$£]|\p{L}+)?/gu;

/** Words that begin a new phrase, and so end the phrase before. */
const LEADS =
  'to|for|from|about|that|saying|because|on|at|in|into|with|by|until|as|of|via|per|called|named|titled|regarding|and|then|or';

const LEAD_WORDS: ReadonlySet<string> = new Set(LEADS.split('|'));

/** Matches where a phrase ends: at punctuation, at the next phrase, or at the name of a property. */
function phraseEnd(labels: readonly string[]): string {
  const next = [LEADS, ...labels.filter((label) => label.length > 2).map(escaped)].join('|');
  return `(?=\\s+(?:${next})(?![\\p{L}\\d])|[,;!?]|:\\s|\\.(?:\\s|$)|$)`;
}

/** `Pay ACME 950`, `Order 3 chairs`, `Delete the database customers`. */
function objectOf(text: string, end: string, verb: readonly string[]): string | undefined {
  const rest = /^\W*\S+\s+(?:me\s+)?(?:the\s+|a\s+|an\s+)?(?:[€$£]?\d[\d.,]*\s+)?(.*)$/isu.exec(text)?.[1];
  const phrase = rest === undefined ? undefined : new RegExp(`^(.+?)${end}`, 'isu').exec(rest)?.[1];
  const object = tidy(phrase)?.split(/\s+/) ?? [];
  const own = object.findIndex((word) => !verb.includes(word.toLowerCase()));
  const left = own < 0 ? '' : object.slice(own).join(' ');
  return left === '' || MONEY.test(left) || PRONOUN.test(left) ? undefined : left;
}

const PRONOUN = /^(?:it|them|this|that|these|those)\b/i;

function phraseAfter(text: string, lead: string, end: string): string | undefined {
  // A text reaches to the end; a name ends with the next phrase.
  const until = SPEECH.has(lead) ? '$' : end;
  const phrase = new RegExp(`(?<![\\p{L}\\d])${escaped(lead)}\\s+(.+?)${until}`, 'isu').exec(text)?.[1];
  // `for invoice 7` is a phrase; `for 40 euros` is an amount, and of `to ACME 950` only ACME is.
  if (phrase === undefined || /^[€$£]?\d/.test(phrase)) return undefined;
  if (SPEECH.has(lead)) return phrase.replace(/[\s.!]+$/, '');
  return tidy(phrase, lead === 'for' || lead === 'about');
}

const SPEECH: ReadonlySet<string> = new Set(['that', 'saying', 'because']);

/** `priority: high`, `priority = high`, `priority is high`, `priority high`; the value ends with the phrase. */
function labelledBy(text: string, name: readonly string[], end: string): string | undefined {
  // `to ACME 950` is a phrase, and not a label with its value.
  if (name.length === 1 && LEAD_WORDS.has(name[0] ?? '')) return phraseAfter(text, name[0] ?? '', end);
  const label = `(?<![\\p{L}\\d])${name.map((word) => `${escaped(word)}s?`).join('[\\s_-]*')}`;
  const quoted = new RegExp(`${label}\\s*(?:[:=]|is|of)?\\s*["“]([^"”]+)["”]`, 'iu').exec(text)?.[1];
  if (quoted !== undefined) return quoted;
  const plain = new RegExp(`${label}(?:\\s*[:=]\\s*|\\s+is\\s+|\\s+#?)(?!(?:${LEADS})\\b)(.+?)${end}`, 'isu');
  return tidy(plain.exec(text)?.[1], true);
}

/** Names are capitalized, do not begin a sentence, and are not places or topics. */
function namesOf(text: string): readonly string[] {
  const found = text.matchAll(
    /(?<=[\p{L}\d,;:]\s)(?<!\b(?:in|on|at|about|that)\s)\p{Lu}[\p{L}'&-]*(?:\s(?:and\s)?\p{Lu}[\p{L}'&-]*)*/gu,
  );
  return [...found].map(([name]) => name).filter((name) => !MONEY.test(name) && name !== 'I');
}

function choicesOf(text: string): readonly string[] {
  const listed =
    /:\s*(.+?)[.?!]?\s*$/su.exec(text)?.[1] ??
    /((?:[^\s,]+,\s*)*[^\s,]+,?\s+or\s+[^\s,]+?)[.?!]?\s*$/su.exec(text)?.[1];
  if (listed === undefined || !/,|\bor\b/.test(listed)) return [];
  return listed.split(/\s*,\s*(?:or\s+)?|\s+or\s+/).filter((choice) => choice !== '');
}

/** Cuts articles, numbers and the next phrase off. */
function tidy(phrase: string | undefined, keepsNumbers = false): string | undefined {
  if (phrase === undefined) return undefined;
  const cut = keepsNumbers
    ? phrase
    : phrase.replace(new RegExp(`(?:^|\\s+)(?:(?:${LEADS})\\b|[€$£]?\\d).*$`, 'isu'), '');
  const text = cut
    .replace(/^(?:the|a|an|my|our|their|his|her)\s+/i, '')
    .replace(/[\s.,;:!?]+$/, '')
    .trim();
  return text === '' ? undefined : text;
}

const escaped = (text: string): string => text.replace(/[^\p{L}\d]/gu, '\\$&');
