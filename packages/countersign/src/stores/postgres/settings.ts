// The settings of a database that would change what is kept in it, without a word: they are looked at when it is opened.
import { ProviderError } from '../../core/errors.ts';
import { warn } from '../../runs/port/warning.ts';

type Setting = { readonly name: string; readonly fits: (value: string) => boolean; readonly advice: string };

const UNLESS_ON = (name: string): Setting => ({ name, fits: (value) => value === 'on', advice: inAddress(name, 'on') });

const SETTINGS: readonly Setting[] = [
  {
    name: 'server_encoding',
    fits: (value) => value === 'UTF8',
    advice:
      "Not every text could be kept. Make a database in UTF-8: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.",
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

/**
 * Throws if something would not come back as it was written. What may be lost when the server crashes is for its operator to
 * say, who hears of it.
 */
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

/** Each process says it once, however many stores it opens. */
let isTold = false;

function warnOfCommits(): void {
  if (isTold) return;
  isTold = true;
  const message = `The database has ${COMMIT} = off: if its server crashes, decisions and starts that were acknowledged can be lost, and calls can run twice. ${inAddress(COMMIT, 'on')}`;
  warn(message, 'store-failed');
}

/** A connection of `pg` as far as it tells what the server says beside its answers. */
type Telling = { on?(event: 'notice', listener: (notice: { readonly routine?: string | undefined }) => void): unknown };

const GIVEN_UP =
  'PostgreSQL was told not to wait for its synchronous standby any longer. What was just recorded counts, and its calls run, but the standby may not have it: let it catch up before you fail over to it. Otherwise decisions and starts that were acknowledged are lost, and calls can run twice.';

const GIVEN_UP_EVERY_MS = 60_000;
let givenUpAt = Number.NEGATIVE_INFINITY;

/** Somebody has cancelled a commit that waited for the standby: the server says so beside its answer, which is a success. */
export function warnOfCancelledSync(client: Telling): void {
  client.on?.('notice', ({ routine }) => {
    // The words depend on the language of the server.
    if (routine !== 'SyncRepWaitForLSN' || performance.now() - givenUpAt < GIVEN_UP_EVERY_MS) return;
    givenUpAt = performance.now();
    warn(GIVEN_UP, 'store-failed');
  });
}
