// Writes money and dates for a person: the one place that knows languages and time zones. It runs in browsers.

import type { Reading } from './core/request/reading.ts';

/** The language and time zone of the reader; those of the browser or process if undefined. */
export type Locale = { readonly locale?: string | undefined; readonly timeZone?: string | undefined };

/** Writes a reading for a person, with every digit: `€950.00`, `Wed, Nov 18, 2026`. Undefined if that is not possible. */
export function readingText(reading: Reading, { locale, timeZone }: Locale = {}): string | undefined {
  try {
    switch (reading.is) {
      case 'money':
        return moneyText(reading, locale);
      case 'day':
        return new Intl.DateTimeFormat(locale, { ...DAY_PARTS, timeZone: 'UTC' }).format(new Date(reading.day));
      case 'moment': {
        const at = new Date(reading.at);
        const parts = { ...DAY_PARTS, ...TIME_PARTS, ...(at.getUTCSeconds() > 0 && { second: '2-digit' as const }) };
        return new Intl.DateTimeFormat(locale, { ...parts, timeZone }).format(at);
      }
    }
  } catch {
    // The platform does not know the language, the zone, or so many digits: people read the value itself.
    return undefined;
  }
}

const DAY_PARTS = { weekday: 'short', year: 'numeric', month: 'short', day: 'numeric' } as const;
const TIME_PARTS = { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' } as const;

/** A string is formatted with every digit; a number would lose those of a large amount. */
function moneyText({ amount, currency }: Reading & { readonly is: 'money' }, locale: string | undefined): string {
  const style = { style: 'currency', currency } as const;
  const usual = new Intl.NumberFormat(locale, style).resolvedOptions().maximumFractionDigits ?? 0;
  const digits = Math.max(usual, amount.split('.')[1]?.length ?? 0);
  const format = new Intl.NumberFormat(locale, { ...style, minimumFractionDigits: digits });
  return format.format(amount as `${number}`);
}
