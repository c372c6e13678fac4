// How a request waits: when people are reminded, when more people are asked, and when its deadline decides.

import { isWho } from '../../core/authority/known-policies.ts';
import { type Who, whoText } from '../../core/authority/policy.ts';
import { isObject } from '../../core/json.ts';
import type { OptionKind, OptionTable } from '../../core/options.ts';
import { type Duration, spanOf } from './duration.ts';

export const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

/** When people work. Hours are counted in this time zone, also across a change of the clock. */
export type BusinessHours = {
  /** Such as `Europe/Berlin`. */
  readonly timeZone: string;
  /** Monday to Friday by default. */
  readonly days?: readonly (typeof DAYS)[number][];
  /** `'09:00'` by default. */
  readonly from?: string;
  /** `'17:00'` by default; at most `'24:00'`. */
  readonly to?: string;
  /** Days off: `'2026-12-24'`, or `'12-25'` in every year. */
  readonly holidays?: readonly string[];
};

/** After this time, these people may decide too. `manager`: the managers of those who could decide before. */
export type EscalationRule = { readonly after: Duration; readonly to: Who | 'manager' };

/** How a request waits. All durations count from when it is asked; they count in stored runs. */
export type TimeOptions = {
  /** After each of these times without a decision, channels get a notice `reminded`. */
  readonly remind?: readonly Duration[];
  /** More people may decide after each of these times, and `onEscalation` of `countersign()` is called. */
  readonly escalate?: readonly EscalationRule[];
  /** After this time without a decision, `onExpiry` decides: `reject` by default. */
  readonly expireAfter?: Duration;
  /** Counts the durations above in business hours only: `'4h'` are four working hours, `'2d'` two working days. */
  readonly businessHours?: BusinessHours;
};

export const aDuration: OptionKind = {
  is: "a number of milliseconds or a text such as '30m', '4h' or '2d', of at most ten years",
  fits: (value) => spanOf(value) !== undefined,
};

/** More would be a mistake. */
const MOST_TIMES = 20;

const isList = (value: unknown): value is readonly unknown[] =>
  Array.isArray(value) && value.length > 0 && value.length <= MOST_TIMES;

export const TIME_OPTIONS: OptionTable<TimeOptions> = {
  remind: {
    is: "a list of 1 to 20 durations such as '30m', '4h' or '2d'",
    fits: (value) => isList(value) && value.every(aDuration.fits),
  },
  escalate: {
    is: "a list of 1 to 20 rules such as { after: '4h', to: { roles: ['manager'] } }; `to` is people, roles or 'manager'",
    fits: (value) => isList(value) && value.every(isRule),
  },
  expireAfter: aDuration,
  businessHours: {
    is: "such as { timeZone: 'Europe/Berlin', days: ['mon', 'fri'], from: '09:00', to: '17:00', holidays: ['2026-12-24'] }",
    fits: isBusinessHours,
  },
};

function isRule(rule: unknown): boolean {
  if (!isObject(rule)) return false;
  const { after, to, ...rest } = rule;
  return (
    aDuration.fits(after) &&
    (to === 'manager' || (isWho(to) && whoText(to as Who).length > 0)) &&
    Object.keys(rest).length === 0
  );
}

function isBusinessHours(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { timeZone, days = DAYS, from = '00:00', to = '24:00', holidays = [], ...rest } = value;
  if (Object.keys(rest).length > 0 || !isTimeZone(timeZone)) return false;
  if (!Array.isArray(days) || days.length === 0 || !days.every((day) => DAYS.includes(day))) return false;
  if (!isTimeOfDay(from) || !isTimeOfDay(to) || from >= to) return false;
  return Array.isArray(holidays) && holidays.every(isDate);
}

function isTimeZone(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: value });
    return true;
  } catch {
    // It throws if it does not know the time zone.
    return false;
  }
}

const isTimeOfDay = (value: unknown): value is string =>
  typeof value === 'string' && (/^([01]\d|2[0-3]):[0-5]\d$/.test(value) || value === '24:00');

/** A year that has the day stands for every year. */
function isDate(value: unknown): boolean {
  const date = typeof value === 'string' && /^\d{2}-\d{2}$/.test(value) ? `2024-${value}` : value;
  if (typeof date !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(date)) return false;
  const time = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(date);
}
