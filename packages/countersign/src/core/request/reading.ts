// How one value reads: an amount of money, a day, a moment. Only where nothing is lost.

import { isObject, type Json } from '../json.ts';
import { CURRENCY, HINT, type MoneyOptions } from './money.ts';
import type { Schema } from './plain-schema.ts';

/** How a value reads, exactly. */
export type Reading =
  /** `amount` has every digit, such as `950.5`. */
  | { readonly is: 'money'; readonly amount: string; readonly currency: string }
  /** Such as `2026-11-18`. */
  | { readonly is: 'day'; readonly day: string }
  /** Such as `2026-11-18T09:30:00Z`. */
  | { readonly is: 'moment'; readonly at: string };

/** `beside`: the object that the value is in. */
export function readingOf(
  value: Json,
  schema: Schema,
  beside: { readonly [name: string]: unknown },
): Reading | undefined {
  const money = moneyIn(schema);
  if (money) return moneyOf(value, money, beside);
  if (typeof value !== 'string') return undefined;
  if (schema.format === 'date') return isDay(value) ? { is: 'day', day: value } : undefined;
  return schema.format === 'date-time' && isMoment(value) ? { is: 'moment', at: value } : undefined;
}

export function moneyIn(schema: Schema): MoneyOptions | undefined {
  const hint = schema[HINT];
  return isObject(hint) && isObject(hint.money) ? (hint.money as MoneyOptions) : undefined;
}

const DECIMAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

/** More digits cannot be formatted everywhere. */
const MOST_DIGITS = 20;

function moneyOf(
  value: Json,
  { currency: fixed, currencyField: field, scale = 0 }: MoneyOptions,
  beside: { readonly [name: string]: unknown },
): Reading | undefined {
  const currency = typeof field === 'string' && Object.hasOwn(beside, field) ? beside[field] : fixed;
  if (typeof currency !== 'string' || !CURRENCY.test(currency)) return undefined;
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || text.length > 3 * MOST_DIGITS || !DECIMAL.test(text)) return undefined;
  const amount = scaled(text, scale);
  return amount !== undefined && (amount.split('.')[1] ?? '').length <= MOST_DIGITS
    ? { is: 'money', amount, currency }
    : undefined;
}

/** Moves the decimal point to the left: 95000 with a scale of 2 is 950.00. Undefined for parts of a minor unit. */
function scaled(text: string, scale: unknown): string | undefined {
  if (scale === 0) return text;
  if (typeof scale !== 'number' || !Number.isInteger(scale) || scale < 0 || text.includes('.')) return undefined;
  const sign = text.startsWith('-') ? '-' : '';
  const digits = text.slice(sign.length).padStart(scale + 1, '0');
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

const DAY = /^(\d{4})-(\d{2})-(\d{2})$/;

/** The thirtieth of February reads as it is written. */
function isDay(text: string): boolean {
  const [year, month, day] = (DAY.exec(text) ?? []).slice(1).map(Number);
  if (year === undefined || month === undefined || day === undefined) return false;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day >= 1 && day <= ((isLeap && month === 2 ? 29 : DAYS[month - 1]) ?? 0);
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const MOMENT = /^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.0+)?)?(?:Z|[+-]\d{2}:\d{2})$/i;

/** Parts of a second would be lost. */
const isMoment = (text: string): boolean => isDay(MOMENT.exec(text)?.[1] ?? '');
