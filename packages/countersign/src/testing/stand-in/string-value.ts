// A string for one property: from the message if something fits, otherwise a plausible one by its format or name.
import type { JsonSchema } from '../../models/model.ts';
import { isThing, type MessageValues } from './message-values.ts';
import { sampleOf } from './sample-pattern.ts';
import { stemOf, wordsOf } from './words.ts';

/** The value in the message for this property. Without `guesses`, only one that the message names, or that has its format. */
export function saidString(
  name: string,
  schema: JsonSchema,
  said: MessageValues,
  guesses: boolean,
): string | undefined {
  const words = wordsOf(name);
  const format = String(schema.format ?? '');
  // `order 7` is an `orderId`, too.
  const label = said.labelled(words) ?? (words.length > 1 ? said.labelled(words.slice(0, -1)) : undefined);
  const named = wholeName(said, label);
  const candidates = FORMATS.get(format)?.said(said) ?? [
    ...(named === undefined ? [] : [named, ...named.split(/\s+/).slice(0, 1)]),
    ...(guesses ? (roleOf(words)?.said(said) ?? said.quotes) : []),
  ];
  const cut = candidates.map((candidate) => candidate.slice(0, Number(schema.maxLength ?? MOST_CHARACTERS)));
  return cut.find((candidate) => fits(candidate, schema));
}

/** The name says what the value is, so that the text after the verb is not it. */
export const hasRole = (name: string): boolean => roleOf(wordsOf(name)) !== undefined;

/** The property names a person or a company. */
export const isPerson = (name: string): boolean => roleOf(wordsOf(name))?.said === person;

/** A plausible value. */
export function plausibleString(name: string, schema: JsonSchema, said: MessageValues): string {
  const words = wordsOf(name);
  const { pattern, minLength = 0 } = schema as { readonly pattern?: string; readonly minLength?: number };
  const plain = `example ${words.join(' ')}`.trim();
  const candidates = [
    FORMATS.get(String(schema.format ?? ''))?.otherwise,
    roleOf(words)?.otherwise,
    said.object,
    plain,
    ...(pattern === undefined ? [] : [sampleOf(pattern)]),
    plain.slice(0, Number(schema.maxLength ?? plain.length)).padEnd(minLength, '.'),
  ];
  const usable = candidates.filter((candidate) => candidate !== undefined);
  return usable.find((candidate) => fits(candidate, schema)) ?? usable.at(-1) ?? '';
}

const MOST_CHARACTERS = 2_000;

export function fits(value: string, schema: JsonSchema): boolean {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, format = '' } = schema as Limits;
  if (value.length < minLength || value.length > maxLength) return false;
  if (FORMATS.get(format)?.pattern.test(value) === false) return false;
  return pattern === undefined || matches(pattern, value);
}

type Limits = {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
};

function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(value);
  } catch {
    // The schema library may know another syntax. It checks the value again.
    return true;
  }
}

type Source = {
  /** Values of the message, the best first. */
  readonly said: (values: MessageValues) => readonly string[];
  readonly otherwise: string;
};

const present = (...values: readonly (string | undefined)[]): readonly string[] =>
  values.filter((value) => value !== undefined);

/** The addresses in the message, and for `to Bob` one that the conversation names, such as `bob@example.com`. */
const emailsIn = (said: MessageValues): readonly string[] => {
  const [first] = wordsOf(said.after('to') ?? said.names[0] ?? '');
  return [...said.emails, ...said.knownEmails.filter((email) => wordsOf(email)[0] === first)];
};

const FORMATS: ReadonlyMap<string, Source & { readonly pattern: RegExp }> = new Map([
  ['email', { said: emailsIn, otherwise: 'person@example.com', pattern: /^[^\s@]+@[^\s@]+\.[^\s@]+$/ }],
  ['uri', { said: ({ urls }) => urls, otherwise: 'https://example.com', pattern: /^[a-z]+:/i }],
  ['url', { said: ({ urls }) => urls, otherwise: 'https://example.com', pattern: /^[a-z]+:/i }],
  ['date', { said: ({ dates }) => dates, otherwise: '2030-01-15', pattern: /^\d{4}-\d{2}-\d{2}$/ }],
  [
    'date-time',
    {
      said: ({ dates, times }) => dates.map((date) => `${date}T${(times[0] ?? '12:00').padStart(5, '0')}:00Z`),
      otherwise: '2030-01-15T12:00:00Z',
      pattern: /^\d{4}-\d{2}-\d{2}T/,
    },
  ],
  [
    'time',
    {
      said: ({ times }) => times.map((time) => `${time.padStart(5, '0')}:00`),
      otherwise: '12:00:00',
      pattern: /^\d{2}:\d{2}/,
    },
  ],
  [
    'uuid',
    {
      said: ({ text }) => text.match(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gi) ?? [],
      otherwise: '123e4567-e89b-42d3-a456-426614174000',
      pattern: /^[\da-f-]{36}$/i,
    },
  ],
  ['ipv4', { said: () => [], otherwise: '192.0.2.1', pattern: /^[\d.]+$/ }],
  ['ipv6', { said: () => [], otherwise: '2001:db8::1', pattern: /:/ }],
  ['hostname', { said: () => [], otherwise: 'example.com', pattern: /^[\w.-]+$/ }],
  ['duration', { said: () => [], otherwise: 'PT1H', pattern: /^P/ }],
]);

const person = (said: MessageValues): readonly string[] =>
  present(wholeName(said, said.after('to')), ...said.names, said.object, ...said.emails).filter(
    (phrase) => !isThing(phrase),
  );

/** `Smith and Sons` for `to Smith`. */
const wholeName = ({ names }: MessageValues, start: string | undefined): string | undefined =>
  names.find((name) => start !== undefined && name.startsWith(`${start} and `)) ?? start;
const topic = (said: MessageValues): readonly string[] =>
  present(said.quotes[0], said.after('about'), said.after('that'), said.after('called'), said.after('for')).map(
    capital,
  );
const speech = (said: MessageValues): readonly string[] =>
  present(said.quotes.at(-1), said.after('that'), said.after('saying'), said.after('about')).map(capital);
const wholeText = (said: MessageValues): readonly string[] => [said.quotes[0] ?? said.text];
const dated = (said: MessageValues): readonly string[] => present(...said.dates, said.after('on'), said.after('at'));

/** What a property means, by the words of its name. The last word with a meaning counts: `customerEmail` is an address. */
const ROLES: readonly (readonly [words: string, source: Source])[] = [
  ['email mail', { said: emailsIn, otherwise: 'person@example.com' }],
  ['url link website', { said: ({ urls }) => urls, otherwise: 'https://example.com' }],
  ['phone telephone mobile', { said: ({ text }) => text.match(/\+\d[\d ]{6,}\d/g) ?? [], otherwise: '+1 555 0100' }],
  ['currency', { said: currencies, otherwise: 'EUR' }],
  ['date day when deadline due start end', { said: dated, otherwise: '2030-01-15' }],
  ['time', { said: ({ times }) => times, otherwise: '12:00' }],
  [
    'city place location destination country region address where',
    {
      said: (said) => present(said.after('in'), said.after('to'), said.after('at'), ...said.names),
      otherwise: 'Berlin',
    },
  ],
  [
    'id number code key sku account iban order ticket invoice',
    { said: ({ codes, quotes }) => [...quotes, ...codes], otherwise: '1' },
  ],
  [
    'to recipient receiver payee vendor supplier customer client user person name company employee owner assignee guest contact author member',
    { said: person, otherwise: 'Ada Lovelace' },
  ],
  ['subject title topic headline label', { said: topic, otherwise: 'Example' }],
  [
    'reference reason purpose memo note comment justification',
    {
      said: (said) => present(said.quotes[0], said.after('for'), said.after('because'), said.after('that')),
      otherwise: 'As asked',
    },
  ],
  [
    'body text message content description',
    { said: (said) => [...speech(said), said.text], otherwise: 'Example text' },
  ],
  [
    'query search term keyword filter',
    {
      said: (said) => present(said.quotes[0], said.after('for'), said.after('about'), said.object),
      otherwise: 'example',
    },
  ],
  ['prompt question task request instruction input', { said: wholeText, otherwise: 'Example question' }],
];

function roleOf(words: readonly string[]): Source | undefined {
  const stems = words.map(stemOf).reverse();
  for (const stem of stems)
    for (const [names, source] of ROLES) if (names.split(' ').map(stemOf).includes(stem)) return source;
  return undefined;
}

const CURRENCIES: readonly (readonly [RegExp, string])[] = [
  [/€|\beuros?\b|\beur\b/i, 'EUR'],
  [/\$|\bdollars?\b|\busd\b/i, 'USD'],
  [/£|\bpounds?\b|\bgbp\b/i, 'GBP'],
  [/\bfrancs?\b|\bchf\b/i, 'CHF'],
];

/** The currencies that the message names, as codes. */
export function currencies({ text }: MessageValues): readonly string[] {
  return CURRENCIES.flatMap(([words, code]) => (words.test(text) ? [code] : []));
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
