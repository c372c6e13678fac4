// Help to read a value: money with its currency, dates in words. The exact value always stands beside it.

const AMOUNT = /amount|price|total|cost|sum|fee|budget|limit|salary|balance|value/i;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const MOMENT = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/** Undefined if the value needs no help. `beside` holds the other values of the same object. */
export function readingAid(
  name: string,
  value: unknown,
  beside: { readonly [name: string]: unknown },
  locale?: string,
): string | undefined {
  if (typeof value === 'number' && AMOUNT.test(name)) return money(value, currencyIn(beside), locale);
  if (typeof value !== 'string') return undefined;
  if (DAY.test(value)) return day(value, locale);
  return MOMENT.test(value) ? moment(value, locale) : undefined;
}

function money(amount: number, currency: string | undefined, locale: string | undefined): string | undefined {
  if (currency === undefined) return undefined;
  try {
    // All digits: a rounded amount would be another amount.
    const digits = Math.min((`${amount}`.split('.')[1] ?? '').length, 20);
    const format = { style: 'currency', currency, ...(digits > 2 && { minimumFractionDigits: digits }) } as const;
    return /e/.test(`${amount}`) ? undefined : new Intl.NumberFormat(locale, format).format(amount);
  } catch {
    // Not a currency.
    return undefined;
  }
}

/** The one ISO 4217 code under a name such as `currency`. */
function currencyIn(beside: { readonly [name: string]: unknown }): string | undefined {
  const codes = Object.entries(beside)
    .filter(([name, value]) => /currency/i.test(name) && typeof value === 'string' && /^[A-Z]{3}$/.test(value))
    .map(([, value]) => value as string);
  return codes.length === 1 ? codes[0] : undefined;
}

function day(text: string, locale: string | undefined): string | undefined {
  const at = new Date(`${text}T00:00:00Z`);
  // The thirtieth of February is shown as it is written.
  if (Number.isNaN(at.getTime()) || !at.toISOString().startsWith(text)) return undefined;
  return new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeZone: 'UTC' }).format(at);
}

function moment(text: string, locale: string | undefined): string | undefined {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return undefined;
  return `${new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'short' }).format(at)}, your time`;
}

/** Text in several lines that is indented, or under a name that says so: code is easier to read in columns. */
export function isCode(name: string, text: string): boolean {
  if (CODE_NAME.test(name)) return true;
  return /\n(?: {2,}|\t)\S/.test(text) && /[{}();<>=]/.test(text);
}

const CODE_NAME = /^(?:code|sql|query|script|command|cmd|shell|patch|diff|html|css|json|yaml|regex)$/i;
