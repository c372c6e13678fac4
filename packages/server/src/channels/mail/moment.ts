// Times as the reader of a mail writes them.
import type { Contact } from 'countersign/store';

/** How a person reads dates. */
export type Reading = Pick<Contact, 'locale' | 'timeZone'>;

/** As in `Thu, 19 Nov 2026, 10:00 CET`. Always names the time zone: a mail can be read anywhere. */
export function momentText(at: number, { locale = 'en', timeZone = 'UTC' }: Reading): string {
  return (formatOf(locale, timeZone) ?? formatOf('en', timeZone) ?? formatOf('en', 'UTC'))?.format(at) ?? '';
}

function formatOf(locale: string, timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat(locale, {
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      year: 'numeric',
      hour: 'numeric',
      minute: '2-digit',
      timeZone,
      timeZoneName: 'short',
    });
  } catch {
    // A directory may have a locale or a time zone that does not exist. The mail is sent all the same.
    return undefined;
  }
}
