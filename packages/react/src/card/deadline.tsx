// The deadline of an request, counting.
import { useEffect, useState } from 'react';
import { useLocale, useNamed, useWords } from '../appearance.tsx';

export type DeadlineProps = {
  /** In milliseconds. */
  readonly expiresAt: number;
  /** `start`: an approved call starts then. */
  readonly onExpiry: 'reject' | 'cancel' | 'approve' | 'start' | null;
};

/** Counts in seconds during the last hour, in minutes before. Not a live region: a screen reader reads it on demand. */
export function Deadline({ expiresAt, onExpiry }: DeadlineProps) {
  const named = useNamed();
  const words = useWords();
  const locale = useLocale();
  const left = useTimeLeft(expiresAt);
  const starts = onExpiry === 'start';
  return (
    <p {...named('deadline')} data-passed={left <= 0}>
      {starts ? words.starts : left <= 0 ? words.deadlinePassed : words.deadline}{' '}
      <time
        dateTime={new Date(expiresAt).toISOString()}
        title={new Date(expiresAt).toLocaleString(locale)}
        suppressHydrationWarning
      >
        {inWords(left, locale)}
      </time>
      {onExpiry !== null && left > 0 && (starts ? words.startsUnlessRecalled : words.onExpiry[onExpiry])}
    </p>
  );
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function useTimeLeft(expiresAt: number): number {
  const [now, setNow] = useState(() => Date.now());
  const left = expiresAt - now;
  const tick = left > HOUR ? MINUTE : SECOND;
  const over = left <= 0;
  useEffect(() => {
    if (over) return;
    const timer = setInterval(() => setNow(Date.now()), tick);
    return () => clearInterval(timer);
  }, [tick, over]);
  return left;
}

/** “in 4 minutes”, “3 hours ago”. */
function inWords(left: number, locale: string | undefined): string {
  const format = new Intl.RelativeTimeFormat(locale, { numeric: 'always' });
  const away = Math.abs(left);
  if (away >= 2 * DAY) return format.format(Math.trunc(left / DAY), 'day');
  if (away >= 2 * HOUR) return format.format(Math.trunc(left / HOUR), 'hour');
  if (away >= 2 * MINUTE) return format.format(Math.trunc(left / MINUTE), 'minute');
  return format.format(Math.trunc(left / SECOND), 'second');
}
