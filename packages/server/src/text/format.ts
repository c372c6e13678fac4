// Dates, numbers and money as a person reads them: by the directory, by their browser, in English otherwise.
import { type Line, readingText } from 'countersign/request';
import type { Contact } from 'countersign/store';

/** A directory may have a locale or a time zone that does not exist. */
export type Reading = Pick<Contact, 'locale' | 'timeZone'>;

export type Format = {
  /** The language tag, for the page. */
  readonly locale: string;
  /** As in `Thu, Nov 19, 2026, 10:00 AM UTC`. Always with the time zone, because a mail is read anywhere. */
  time(at: number): string;
  /** With separators and every digit. */
  number(value: number): string;
  /** Money and dates of a field whose schema says so; undefined if the reader gets the value itself. */
  reads(line: Line): string | undefined;
};

/** Writes money and dates of a line; undefined if the reader gets the value itself. */
export type Reads = Format['reads'];

/** In English, with the time zone of this process: for a terminal. */
export const readsHere: Reads = ({ reading }) => reading && readingText(reading, { locale: 'en' });

/** In English and UTC, for readers who are not known. */
export const readsAnywhere: Reads = (line) => ANYWHERE.reads(line);

export function formatFor({ locale, timeZone }: Reading, acceptLanguage: string | null = null): Format {
  const [known = 'en'] = [...(locale === undefined ? [] : [locale]), ...languagesOf(acceptLanguage)].filter(isLocale);
  const zone = timeZone !== undefined && isTimeZone(timeZone) ? timeZone : 'UTC';
  const parts = {
    weekday: 'short',
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
  } as const;
  const time = new Intl.DateTimeFormat(known, { ...parts, timeZone: zone, timeZoneName: 'short' });
  const number = new Intl.NumberFormat(known, { maximumFractionDigits: 20 });
  return {
    locale: known,
    time: (at) => time.format(at),
    number: (value) => number.format(value),
    reads: ({ reading }) => reading && readingText(reading, { locale: known, timeZone: zone }),
  };
}

const ANYWHERE = formatFor({});

/** The languages that a browser asks for, the preferred one first. */
function languagesOf(header: string | null): readonly string[] {
  const asked = (header ?? '').slice(0, 500).split(',');
  const weighed = asked.map((entry) => {
    const [tag = '', ...parameters] = entry.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    return { tag, weight: weight === undefined ? 1 : Number(weight.slice(2)) || 0 };
  });
  return weighed.toSorted((a, b) => b.weight - a.weight).map(({ tag }) => tag);
}

function isLocale(tag: string): boolean {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf(tag).length > 0;
  } catch {
    // Not a language tag.
    return false;
  }
}

export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined;
  } catch {
    // Not a time zone.
    return false;
  }
}
