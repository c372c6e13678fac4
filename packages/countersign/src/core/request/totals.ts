// What several requests of one tool come to: how many there are, the sum of each numeric field, and who gets it.
import { compareDecimals, sumOf } from '../decimal.ts';
import { canonicalJson, isObject, type Json } from '../json.ts';
import type { InputField } from './similar.ts';

/** The sum of one numeric field, of the inputs in one currency. */
export type FieldSum = InputField & {
  /** As the inputs name it, such as `EUR`; null if they name none. */
  readonly currency: string | null;
  /** The exact decimal. */
  readonly sum: string;
  /** How many of the inputs have it. */
  readonly count: number;
  readonly largest: Decimal;
  /** The place of the first input with the largest. */
  readonly largestAt: number;
};

export type InputTotals = {
  readonly count: number;
  readonly sums: readonly FieldSum[];
  /** How many different recipients the inputs name, and in which field; null if they name none. */
  readonly recipients: (InputField & { readonly count: number }) | null;
};

/** A number, or a decimal beside a currency as text, such as `'950.00'`. */
type Decimal = number | string;

type JsonRecord = { readonly [key: string]: Json };

/** An amount in an input. Those with the same key can be added up. */
type Amount = {
  readonly key: string;
  readonly path: readonly string[];
  readonly currency: string | null;
  readonly amount: Decimal;
};

/**
 * Adds up inputs. Fields of objects inside count, elements of arrays do not. Ids are not added up.
 * @example
 * const { count, sums, recipients } = totalsOf(requests.map(({ input }) => input));
 */
export function totalsOf(inputs: readonly Json[]): InputTotals {
  const found = inputs.flatMap((input, at) => amountsIn(input).map((amount) => ({ ...amount, at })));
  const groups = Map.groupBy(found, ({ key }) => key);
  return {
    count: inputs.length,
    sums: [...groups.values()].map((amounts) => {
      const largest = amounts.reduce((most, one) => (compareDecimals(one.amount, most.amount) > 0 ? one : most));
      const { path, currency, amount, at } = largest;
      const field = { path, name: path.length === 0 ? 'input' : path.join('.'), currency };
      const sum = sumOf(amounts.map((one) => one.amount));
      return { ...field, sum, count: amounts.length, largest: amount, largestAt: at };
    }),
    recipients: recipientsIn(inputs),
  };
}

/** The field that names who gets something, and its value; undefined if the input has none. */
export function recipientOf(input: Json): { readonly path: readonly string[]; readonly value: Json } | undefined {
  if (!isObject(input)) return undefined;
  const record = input as JsonRecord;
  const names = Object.keys(record);
  for (const wanted of RECIPIENTS) {
    const name = names.find((one) => plain(one) === wanted);
    const value = name === undefined ? undefined : record[name];
    if (name !== undefined && isNamed(value)) return { path: [name], value };
  }
  return undefined;
}

function recipientsIn(inputs: readonly Json[]): InputTotals['recipients'] {
  const found = inputs.flatMap((input) => recipientOf(input) ?? []);
  const [first] = found;
  if (!first || found.length < inputs.length || found.some(({ path }) => !samePath(path, first.path))) return null;
  const { path } = first;
  return { path, name: path.join('.'), count: new Set(found.map(({ value }) => canonicalJson(value))).size };
}

/** The numbers in an input, and its decimals beside a currency. */
export function amountsIn(value: Json, path: readonly string[] = [], beside: JsonRecord = {}): readonly Amount[] {
  if (isObject(value)) {
    const record = value as JsonRecord;
    return Object.entries(record).flatMap(([name, inner]) => amountsIn(inner, [...path, name], record));
  }
  const currency = currencyOf(path, beside);
  if (!isAddable(path, value, currency)) return [];
  return [{ key: JSON.stringify([path, currency]), path, currency, amount: value }];
}

function isAddable(path: readonly string[], value: Json, currency: string | null): value is Decimal {
  const name = path.at(-1) ?? '';
  if (typeof value === 'number') return !isIdentifier(name);
  return currency !== null && typeof value === 'string' && MONEY.test(name) && DECIMAL.test(value);
}

const MONEY = /(?:amount|value|total|sum|price|cost|fee|tax|net|gross)$/i;
const DECIMAL = /^-?\d{1,30}(?:\.\d{1,30})?$/;

/** `id`, `invoiceId`, `invoice_id`: their sum means nothing. */
const isIdentifier = (name: string): boolean => /^(?:id|ID)$|[_\-.\s]id$|[a-z0-9](?:Id|ID)$/.test(name);

/** A field `currency` in the same object, or one that begins with the name of the field: `amountCurrency`. */
function currencyOf(path: readonly string[], beside: JsonRecord): string | null {
  const own = plain(path.at(-1) ?? '');
  const names = new Set([`${own}currency`, 'currency', 'currencycode']);
  for (const [name, value] of Object.entries(beside))
    if (names.has(plain(name)) && typeof value === 'string' && /^[A-Za-z]{3}$/.test(value)) return value.toUpperCase();
  return null;
}

/** Names of fields that say who gets something; the first that an input has counts. */
const RECIPIENTS = [
  ...['payee', 'payeename', 'payeeid', 'recipient', 'recipientname', 'recipientid', 'beneficiary', 'creditor'],
  ...['vendor', 'vendorid', 'supplier', 'supplierid', 'iban', 'toaccount', 'accountto', 'destination', 'to'],
];

/** Other names of fields by which something leaves, or reaches somebody. */
const ADDRESSES = new Set([
  ...RECIPIENTS,
  ...['cc', 'bcc', 'email', 'mail', 'address', 'account', 'accountnumber', 'bic', 'url', 'webhook', 'phone', 'wallet'],
]);

/** The field says who gets something, or where it goes: `to`, `recipients`, `iban`, `email`, `url`. */
export const namesRecipient = (name: string): boolean =>
  ADDRESSES.has(plain(name)) || ADDRESSES.has(plain(name).replace(/s$/, ''));

/** `payee_name` and `payeeName` are one name. */
const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

const isNamed = (value: Json | undefined): value is Json =>
  (typeof value === 'string' && value !== '') || typeof value === 'number' || isObject(value);

const samePath = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((key, index) => key === other[index]);
