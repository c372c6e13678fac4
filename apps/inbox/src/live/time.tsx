// Times and durations in words: short on the page, exact in the title.
import { useNow } from './now.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long ago. */
export function Ago({ at, className }: { readonly at: number; readonly className?: string }) {
  const passed = Math.max(useNow() - at, 0);
  return (
    <Moment at={at} {...(className !== undefined && { className })}>
      {passed < MINUTE ? 'just now' : `${roughly(passed)} ago`}
    </Moment>
  );
}

/** How long is left, for a deadline. */
export function Left({ until }: { readonly until: number }) {
  const left = until - useNow();
  const tone = left < HOUR ? 'text-danger font-medium' : left < DAY ? 'text-warning' : 'text-muted';
  return (
    <Moment at={until} className={tone}>
      {left <= 0 ? 'overdue' : left < MINUTE ? 'under 1 min left' : `${roughly(left)} left`}
    </Moment>
  );
}

/** A moment as the browser's language writes it. */
export const exactly = (at: number): string => new Date(at).toLocaleString();

type MomentProps = { readonly at: number; readonly className?: string; readonly children?: string };

export function Moment({ at, className, children }: MomentProps) {
  return (
    <time dateTime={new Date(at).toISOString()} title={exactly(at)} className={className}>
      {children ?? exactly(at)}
    </time>
  );
}

/** One unit: `3 min`, `2 h`, `5 d`. */
export function roughly(ms: number): string {
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} d`;
}

/** Two units, or fractions of a second: `1 h 4 min`, `2.3 s`, `40 ms`. */
export function duration(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`;
  if (ms < HOUR) return pair(ms, MINUTE, 'min', SECOND, 's');
  if (ms < DAY) return pair(ms, HOUR, 'h', MINUTE, 'min');
  return pair(ms, DAY, 'd', HOUR, 'h');
}

function pair(ms: number, big: number, bigName: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % big) / small);
  return `${Math.floor(ms / big)} ${bigName}${rest > 0 ? ` ${rest} ${smallName}` : ''}`;
}
