// What people want to be told, and when: channels that are off, quiet hours, and which notices come together. Kept as notes.

import { UsageError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json.ts';
import { anything, checkOptions, type OptionTable, oneOf } from '../../core/options.ts';
import type { Notes } from '../port/notes.ts';
import type { RunRequest } from '../requests/view.ts';

/** What a person wants to be told. */
export type NoticePreferences = {
  /** Channels by name; false for one that is off. */
  readonly channels?: { readonly [name: string]: boolean };
  /** Notices wait until these hours are over, unless the risk of the request is high. Times such as `22:00`. */
  readonly quiet?: { readonly from: string; readonly until: string; readonly timeZone: string };
  /**
   * Which notices come together. `burst`, the default: the first comes at once, and what follows within two minutes comes together.
   * `low-risk`: so do notices of requests with low risk, at the full hour. `all`: all notices, at the full hour. `off`: each by itself.
   */
  readonly digest?: 'burst' | 'low-risk' | 'all' | 'off';
};

/** Whether notices that follow each other come together. */
export const gathersBursts = ({ digest }: NoticePreferences): boolean => digest !== 'off';

/** When a person wants a notice. */
export type Wanted =
  | { readonly when: 'now' }
  | { readonly when: 'never' }
  | { readonly when: 'later'; readonly at: number; readonly digest: boolean };

const COLLECTION = 'notice-preferences';
const HOUR_MS = 3_600_000;

export class Preferences {
  readonly #notes: Notes;

  constructor(notes: Notes) {
    this.#notes = notes;
  }

  async of(person: string): Promise<NoticePreferences> {
    const note = await this.#notes.get(COLLECTION, person);
    return note && isObject(note.value) ? (note.value as NoticePreferences) : {};
  }

  async set(person: string, preferences: NoticePreferences): Promise<void> {
    await checkPreferences(preferences);
    await this.#notes.put(COLLECTION, person, preferences as Json);
  }
}

/** `digest`: the notice has waited for its digest. */
export async function wantedAt(
  { channels = {}, quiet, digest = 'burst' }: NoticePreferences,
  channel: string,
  { risk, expiresAt }: Pick<RunRequest, 'risk' | 'expiresAt'>,
  now: number,
  hasWaited: boolean,
): Promise<Wanted> {
  if (Object.hasOwn(channels, channel) && channels[channel] === false) return { when: 'never' };
  const quietEnd = quiet && risk !== 'high' ? await endOfQuiet(quiet, now) : undefined;
  const inDigest = digest === 'all' || (digest === 'low-risk' && risk === 'low');
  if (quietEnd !== undefined) return { when: 'later', at: quietEnd, digest: digest !== 'off' };
  if (!inDigest || hasWaited) return { when: 'now' };
  const at = (Math.floor(now / HOUR_MS) + 1) * HOUR_MS;
  // In the digest it would come too late.
  return expiresAt !== null && expiresAt <= at ? { when: 'now' } : { when: 'later', at, digest: true };
}

/** When the quiet hours end that this time is in; undefined if it is in none. */
async function endOfQuiet(
  { from, until, timeZone }: NonNullable<NoticePreferences['quiet']>,
  now: number,
): Promise<number | undefined> {
  // Loaded only if someone has quiet hours, because the calendar is large.
  const { Temporal } = await import('temporal-polyfill');
  const local = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timeZone);
  const time = local.toPlainTime().toString().slice(0, 5);
  const isQuiet = from < until ? from <= time && time < until : time >= from || time < until;
  if (!isQuiet) return undefined;
  const day = time < until ? local.toPlainDate() : local.toPlainDate().add({ days: 1 });
  return day.toZonedDateTime({ timeZone, plainTime: until }).epochMilliseconds;
}

const PREFERENCES: OptionTable<NoticePreferences> = {
  channels: {
    is: 'an object with true or false for each channel',
    fits: (value) => isObject(value) && Object.values(value).every((wants) => typeof wants === 'boolean'),
  },
  quiet: { is: 'an object with from, until and timeZone', fits: isObject },
  digest: oneOf('burst', 'low-risk', 'all', 'off'),
};

const aClockTime = {
  is: 'a time such as 22:00',
  fits: (value: unknown) => CLOCK.test(String(value)),
  required: true,
} as const;

const CLOCK = /^([01]\d|2[0-3]):[0-5]\d$/;

async function checkPreferences(preferences: NoticePreferences): Promise<void> {
  checkOptions('`setPreferences`', preferences, PREFERENCES);
  const { quiet } = preferences;
  if (!quiet) return;
  checkOptions('`quiet`', quiet, { from: aClockTime, until: aClockTime, timeZone: { ...anything, required: true } });
  if (quiet.from === quiet.until) {
    const message = '`quiet` must end at another time than it begins. Turn channels off instead.';
    throw new UsageError('invalid-options', { field: 'quiet' }, message);
  }
  try {
    new Intl.DateTimeFormat('en', { timeZone: quiet.timeZone });
  } catch (cause) {
    const message = `\`timeZone\` of \`quiet\` must be a time zone such as Europe/Zurich, not ${JSON.stringify(quiet.timeZone)}.`;
    throw new UsageError('invalid-options', { field: 'timeZone' }, message, { cause });
  }
}
