// Times and durations as people read them.

/** Formats a time in the reader's time zone, to the second: `2026-11-15 07:00:01`. */
export const timeText = (at: number): string => new Date(at).toLocaleString('sv-SE');

/** As in `1:28 PM`, with the date if it was not today. */
export function shortTime(at: number): string {
  const time = new Date(at).toLocaleTimeString('en-US', { hour: 'numeric', minute: '2-digit' });
  const [day = ''] = timeText(at).split(' ');
  return timeText(Date.now()).startsWith(day) ? time : `${time} on ${day}`;
}

const UNITS = [
  { unit: 'd', size: 86_400, lesser: 'h', part: 3_600 },
  { unit: 'h', size: 3_600, lesser: 'min', part: 60 },
  { unit: 'min', size: 60, lesser: 's', part: 1 },
] as const;

/** As in `850 ms`, `12.3 s`, `4 min 5 s`, `3 h 20 min`, `2 d 4 h`. */
export function durationText(ms: number): string {
  const given = Math.max(0, Math.round(ms));
  const seconds = Math.round(given / 1_000);
  const found = given < 59_950 ? undefined : UNITS.find(({ size }) => seconds >= size);
  if (!found) return given < 1_000 ? `${given} ms` : `${(given / 1_000).toFixed(1)} s`;
  const { unit, size, lesser, part } = found;
  const few = Math.floor((seconds % size) / part);
  return `${Math.floor(seconds / size)} ${unit}${few === 0 ? '' : ` ${few} ${lesser}`}`;
}

/** Formats only the largest unit, as in `4 min`. */
export function roughDuration(ms: number): string {
  if (ms < 1_000) return 'now';
  return durationText(ms)
    .replace(/^(\d+)\.\d s$/, '$1 s')
    .split(' ')
    .slice(0, 2)
    .join(' ');
}
