// Money in a schema: which currency a field has. People see the amount with it; what runs and what policies compare stays a plain value.

import { UsageError } from '../errors.ts';
import { aString, checkOptions, type OptionKind, type OptionTable } from '../options.ts';

/** The keyword of JSON Schema under which a field says how people read it. Models do not see it. */
export const HINT = 'x-countersign';

/** Options of `money()`: the currency itself, or the field that has it. */
export type MoneyOptions = {
  /** As in ISO 4217, such as `EUR`. */
  readonly currency?: string;
  /** The name of the field beside it that has the currency. People see both as one line. */
  readonly currencyField?: string;
  /** The field counts minor units: 2 if it counts cents. */
  readonly scale?: number;
};

/** What `money()` adds to a schema. */
export type MoneyHint = { readonly [HINT]: { readonly money: MoneyOptions } };

/** Other codes are not formatted. */
export const CURRENCY = /^[A-Z]{3}$/;

const aCurrency: OptionKind = {
  is: 'a currency as in ISO 4217, such as EUR',
  fits: (value) => typeof value === 'string' && CURRENCY.test(value),
};

const aScale: OptionKind = {
  is: 'a whole number from 0 to 9',
  fits: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 9,
};

const OPTIONS: OptionTable<MoneyOptions> = { currency: aCurrency, currencyField: aString, scale: aScale };

/**
 * Says that a number, or a string with a decimal number, is an amount of money. Cards, mails, Slack and the terminal then show it
 * with its currency.
 * @example
 * z.object({ amount: z.number().meta(money({ currency: 'EUR' })) });
 * z.object({ amount: z.string().meta({ title: 'Amount', ...money({ currencyField: 'currency' }) }), currency: z.string() });
 */
export function money(options: MoneyOptions): MoneyHint {
  checkOptions('money', options, OPTIONS);
  const { currency, currencyField } = options;
  if ((currency === undefined) !== (currencyField === undefined)) return { [HINT]: { money: { ...options } } };
  const message = 'Pass either `currency` or `currencyField` to money().';
  throw new UsageError('invalid-options', { currency, currencyField }, message);
}
