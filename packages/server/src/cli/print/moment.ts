// Times and durations as people read them.

/** Formats a time in the reader's time zone, to the second. */
export function timeText(at: number): string {
  const date = new Date(at);
  const two = (number: number) => String(number).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** As in `1:28 PM`, with the date if it was not today. */
export function shortTime(at: number): string {
  const time = new Date(at).toLocaleTimeString('en-US', { hour: 'numeric', minute: '2-digit' });
  const [day = ''] = timeText(at).split(' ');
  return timeText(Date.now()).startsWith(day) ? time : `${time} on ${day}`;
}

/** As in `850 ms`, `12.3 s`, `4 min 5 s`, `3 h 20 min`, `2 d 4 h`. */
export function durationText(ms: number): string {
  const given = Math.max(0, Math.round(ms));
  if (given < 1_000) return `${given} ms`;
  if (given < 59_950) return `${(given / 1_000).toFixed(1)} s`;
  const seconds = Math.round(given / 1_000);
  if (seconds < 3_600) return two(Math.floor(seconds / 60), 'min', seconds % 60, 's');
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1_440) return two(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  const hours = Math.floor(minutes / 60);
  return two(Math.floor(hours / 24), 'd', hours % 24, 'h');
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

const two = (many: number, unit: string, few: number, lesser: string): string =>
  few === 0 ? `${many} ${unit}` : `${many} ${unit} ${few} ${lesser}`;
