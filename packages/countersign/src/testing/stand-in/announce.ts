// What the stand-in says before its calls: what it will do, in words, and what it must know first.
import { isObject } from '../../core/json.ts';
import type { Chosen, ChosenCall, LackingCall } from './choose-calls.ts';
import { isMoney, type Missing } from './fill-schema.ts';
import { isPerson } from './string-value.ts';
import { wordsOf } from './words.ts';

/** As in `I will pay ACME €950.` */
export function announce({ calls, lacking }: Chosen): string {
  const will = calls.length > 0 ? [`I will ${listed(calls.map(phraseOf), 'and')}.`] : [];
  return [...will, ...lacking.map(requestFor)].join(' ');
}

function requestFor({ tool: { name }, missing }: LackingCall): string {
  return `To ${wordsOf(name).join(' ')}, I need to know the ${listed(missing.map(shownMissing), 'and the')}.`;
}

/** As in `currency (EUR, USD or GBP)`. */
function shownMissing({ name, choices }: Missing): string {
  const label = labelOf(name);
  return choices.length === 0 ? label : `${label} (${listed(choices.map(shown), 'or')})`;
}

export const labelOf = (name: string): string => wordsOf(name).join(' ') || 'input';

function phraseOf({ tool: { name }, input }: ChosenCall): string {
  const words = wordsOf(name);
  const values = Object.entries(isObject(input) ? input : {}).filter(([, value]) => value !== '' && value !== null);
  const [, payee] = values.find(([key, value]) => isPerson(key) && typeof value === 'string') ?? [];
  const [, amount] = values.find(([key, value]) => isMoney(key) && typeof value === 'number') ?? [];
  if (words[0] === 'pay' && typeof payee === 'string' && typeof amount === 'number') {
    const [, currency] = values.find(([key]) => key.toLowerCase() === 'currency') ?? [];
    return `pay ${cut(payee)} ${moneyText(amount, currency)}`;
  }
  const details = values.slice(0, MOST_DETAILS).map(([key, value]) => {
    const label = words.includes(key.toLowerCase()) ? '' : `${labelOf(key)} `;
    return `${label}${shown(value)}`;
  });
  return `${words.join(' ')}${details.length > 0 ? `: ${details.join(', ')}` : ''}`;
}

const MOST_DETAILS = 3;
const LONGEST = 60;

const SYMBOLS: ReadonlyMap<unknown, string> = new Map([
  ['EUR', '€'],
  ['USD', '$'],
  ['GBP', '£'],
]);

function moneyText(amount: number, currency: unknown): string {
  const digits = amount.toLocaleString('en', { maximumFractionDigits: 20 });
  const symbol = SYMBOLS.get(currency);
  if (symbol !== undefined) return `${symbol}${digits}`;
  return typeof currency === 'string' ? `${digits} ${currency}` : digits;
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return cut(value.map(shown).join(', '));
  return cut(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
}

const cut = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1).trimEnd()}…` : text);

/** As in `a, b and c`. */
function listed(texts: readonly string[], word: 'and' | 'or' | 'and the'): string {
  const last = texts.at(-1) ?? '';
  return texts.length < 2 ? last : `${texts.slice(0, -1).join(word === 'and the' ? ', the ' : ', ')} ${word} ${last}`;
}
