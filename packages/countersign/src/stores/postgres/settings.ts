// Checks the settings of a database that would silently change stored data.
import { ProviderError } from '../../core/errors.ts';
import { warn } from '../../runs/port/warning.ts';

type Setting = { readonly name: string; readonly fits: (value: string) => boolean; readonly advice: string };

const UNLESS_ON = (name: string): Setting => ({ name, fits: (value) => value === 'on', advice: inAddress(name, 'on') });

const SETTINGS: readonly Setting[] = [
  {
    name: 'server_encoding',
    fits: (value) => value === 'UTF8',
    advice:
      "Some text could not be stored. Create a UTF-8 database: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.",
  },
  {
    name: 'extra_float_digits',
    fits: (value) => Number(value) >= 0,
    advice: `Times would come back rounded. ${inAddress('extra_float_digits', '1')}`,
  },
  UNLESS_ON('standard_conforming_strings'),
  UNLESS_ON('array_nulls'),
];

const COMMIT = 'synchronous_commit';

/** Columns that `checkSettings` reads. */
export const SETTINGS_SQL = [COMMIT, ...SETTINGS.map(({ name }) => name)]
  .map((name) => `current_setting('${name}') AS ${name}`)
  .join(', ');

/** Throws if data would not come back unchanged. Only warns of commits that a crash of the server can lose. */
export function checkSettings(row: Readonly<Record<string, unknown>>): void {
  if (row[COMMIT] === 'off') warnOfCommits();
  for (const { name, fits, advice } of SETTINGS) {
    const value = String(row[name]);
    if (fits(value)) continue;
    const message = `The database cannot be used with ${name} = ${value}. Nothing was written. ${advice}`;
    throw new ProviderError('store-failed', { setting: name, value }, message, { retryable: false });
  }
}

function inAddress(name: string, value: string): string {
  return `Add ?options=-c%20${name}%3D${value} to the address, or -c ${name}=${value} to the options of the pool.`;
}

/** Each process warns once, however many stores it opens. */
let hasWarned = false;

function warnOfCommits(): void {
  if (hasWarned) return;
  hasWarned = true;
  const message = `The database has ${COMMIT} = off: if its server crashes, acknowledged decisions and starts can be lost, and calls can run twice. ${inAddress(COMMIT, 'on')}`;
  warn(message, 'store-failed');
}

/** The notices of a connection of `pg`. */
type NoticeSource = {
  on?(event: 'notice', listener: (notice: { readonly routine?: string | undefined }) => void): unknown;
};

const SYNC_CANCELLED =
  'PostgreSQL stopped waiting for its synchronous standby, because the wait was cancelled. The last write counts and its calls run, but the standby may not have it: let the standby catch up before you fail over. Otherwise acknowledged decisions and starts are lost, and calls can run twice.';

const WARN_EVERY_MS = 60_000;
let warnedAt = Number.NEGATIVE_INFINITY;

/** Warns when a commit stopped waiting for the standby: the server reports it only as a notice beside a success. */
export function warnOfCancelledSync(client: NoticeSource): void {
  client.on?.('notice', ({ routine }) => {
    // The text depends on the language of the server.
    if (routine !== 'SyncRepWaitForLSN' || performance.now() - warnedAt < WARN_EVERY_MS) return;
    warnedAt = performance.now();
    warn(SYNC_CANCELLED, 'store-failed');
  });
}
