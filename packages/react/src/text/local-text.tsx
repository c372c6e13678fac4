// Text that depends on the reader's language or time zone. A server does not know them, so it leaves the text out.
import { useSyncExternalStore } from 'react';
import { useLocale } from '../appearance.tsx';

const NEVER = () => () => {};

/** `text` must return the same for the same input. */
export function useLocalText(text: () => string): string {
  return useSyncExternalStore(NEVER, text, () => '');
}

/** A moment: date and time, with the exact one in its title. */
export function Moment({ at }: { readonly at: number }) {
  const locale = useLocale();
  const moment = new Date(at);
  const text = useLocalText(() => moment.toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'short' }));
  const exact = useLocalText(() => moment.toLocaleString(locale));
  return (
    <time dateTime={moment.toISOString()} title={exact}>
      {text}
    </time>
  );
}
