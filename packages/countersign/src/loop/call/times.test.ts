// The times of a request: durations as text, and business hours with holidays and changes of the clock.
import { expect, test } from 'vitest';
import { askProblem, mergedWait, type WaitOptions } from '../tool/ask-options.ts';
import { type Duration, spanOf } from '../tool/duration.ts';
import type { BusinessHours } from '../tool/time-options.ts';
import { timesOf } from './times.ts';

const at = (text: string): number => Date.parse(text);
const HOUR = 3_600_000;

test.each([
  ['30s', { ms: 30_000 }],
  ['90m', { ms: 5_400_000 }],
  ['4h', { ms: 14_400_000 }],
  ['2d', { ms: 172_800_000, days: 2 }],
  [1.5, { ms: 2 }],
  [0, { ms: 0 }],
])('the duration %s', (value, span) => expect(spanOf(value)).toEqual(span));

test.each(['', '4', 'h', '1.5h', '-1h', '4 h', '4w', '99999999d', Number.NaN, -1, 1e15, null])(
  '%s is no duration',
  (value) => expect(spanOf(value)).toBe(undefined),
);

test('durations become absolute times in order', () => {
  const escalate = [
    { after: '2d', to: 'manager' },
    { after: '4h', to: { roles: ['lead'] } },
  ] as const;
  expect(timesOf({ remind: ['4h', '1h', '1h'], escalate, expireAfter: '2d' }, 1_000)).toEqual({
    expiresAt: 48 * HOUR + 1_000,
    reminders: [HOUR + 1_000, 4 * HOUR + 1_000],
    escalate: [
      { at: 4 * HOUR + 1_000, to: { roles: ['lead'] } },
      { at: 48 * HOUR + 1_000, to: 'manager' },
    ],
  });
  expect(timesOf({ expireAfter: 0, remind: [0] }, 7)).toEqual({ expiresAt: 7, reminders: [7] });
  expect(timesOf({ expiresIn: 5, remindAfter: 3 }, 7)).toEqual({ expiresAt: 12, reminders: [10] });
});

test('a question replaces the deadline and the reminders of its tool, in whichever form', () => {
  const tool: WaitOptions = { expiresIn: 1, remind: ['1h'], risk: 'low' };
  expect(mergedWait(tool, { expireAfter: '1h' })).toEqual({ expireAfter: '1h', remind: ['1h'], risk: 'low' });
  expect(mergedWait(tool, { remindAfter: 4 })).toEqual({ expiresIn: 1, remindAfter: 4, risk: 'low' });
});

/** The local time in Berlin after this duration in business hours. */
async function after(start: string, expireAfter: Duration, hours: Partial<BusinessHours> = {}) {
  const timeZone = 'Europe/Berlin';
  const options: WaitOptions = { expireAfter, businessHours: { timeZone, ...hours } };
  expect(askProblem(options)).toBe(undefined);
  const { expiresAt = Number.NaN } = await timesOf(options, at(start));
  return new Date(expiresAt).toLocaleString('sv', {
    timeZone: hours.timeZone ?? timeZone,
    timeZoneName: 'shortOffset',
  });
}

test.each([
  // 2026-11-18 is a Wednesday. In winter, Berlin is one hour ahead of UTC.
  ['within the day', '2026-11-18T09:00:00Z', '4h', '2026-11-18 14:00:00 GMT+1'],
  ['over the night', '2026-11-18T15:00:00Z', '4h', '2026-11-19 12:00:00 GMT+1'],
  ['up to the end of the day', '2026-11-18T15:00:00Z', '1h', '2026-11-18 17:00:00 GMT+1'],
  ['over the weekend', '2026-11-20T15:30:00Z', 60 * 60_000, '2026-11-23 09:30:00 GMT+1'],
  ['asked at night', '2026-11-18T01:00:00Z', '30m', '2026-11-18 09:30:00 GMT+1'],
  ['asked on Saturday', '2026-11-21T12:00:00Z', '0m', '2026-11-23 09:00:00 GMT+1'],
  ['working days', '2026-11-18T09:15:00Z', '2d', '2026-11-20 10:15:00 GMT+1'],
  ['working days over the weekend', '2026-11-20T09:15:00Z', '2d', '2026-11-24 10:15:00 GMT+1'],
  ['working days, asked on Sunday', '2026-11-22T09:15:00Z', '1d', '2026-11-24 09:00:00 GMT+1'],
  // The clock goes from 02:00 to 03:00 on 2026-03-29, and back on 2026-10-25: both are Sundays.
  ['into summer time', '2026-03-27T15:00:00Z', '2h', '2026-03-30 10:00:00 GMT+2'],
  ['into summer time, in days', '2026-03-27T09:00:00Z', '1d', '2026-03-30 10:00:00 GMT+2'],
  ['into winter time', '2026-10-23T14:00:00Z', '2h', '2026-10-26 10:00:00 GMT+1'],
] as const)('business hours: %s', async (_, start, duration, end) => {
  expect(await after(start, duration)).toBe(end);
});

test('nobody works on a holiday, of one year or of every year', async () => {
  const holidays = ['2026-12-24', '12-25', '01-01'];
  expect(await after('2026-12-23T15:00:00Z', '2h', { holidays })).toBe('2026-12-28 10:00:00 GMT+1');
  expect(await after('2026-12-31T12:00:00Z', '1d', { holidays })).toBe('2027-01-04 13:00:00 GMT+1');
  const all = { days: ['mon'], holidays: ['2026-11-23', '2026-11-30'] } as const;
  expect(await after('2026-11-18T10:00:00Z', '1h', all)).toBe('2026-12-07 10:00:00 GMT+1');
});

test('hours on the day of a change of the clock are counted as they pass', async () => {
  const always = { days: ['sun'], from: '00:00', to: '24:00' } as const;
  // This Sunday has 23 hours, and the next day of work is a week later.
  expect(await after('2026-03-28T23:00:00Z', '3h', always)).toBe('2026-03-29 04:00:00 GMT+2');
  expect(await after('2026-03-28T23:00:00Z', '24h', always)).toBe('2026-04-05 01:00:00 GMT+2');
  // This one has 25.
  expect(await after('2026-10-24T22:00:00Z', '25h', always)).toBe('2026-10-26 00:00:00 GMT+1');
  // 02:30 does not exist on that day: work begins an hour later on the clock.
  const early = { days: ['sun'], from: '02:30', to: '05:00' } as const;
  expect(await after('2026-03-28T12:00:00Z', '0s', early)).toBe('2026-03-29 03:30:00 GMT+2');
  expect(await after('2026-03-08T05:00:00Z', '1h', { timeZone: 'America/New_York', ...early })).toMatch(
    /^2026-03-08 04:30/,
  );
});

test('business hours that never come are refused', async () => {
  const businessHours: BusinessHours = { timeZone: 'UTC', days: ['mon'], from: '09:00', to: '09:01' };
  await expect(timesOf({ expireAfter: '20d', businessHours }, 0)).resolves.toBeDefined();
  await expect(timesOf({ expireAfter: '2000h', businessHours }, 0)).rejects.toThrow('more than ten years away');
});

test.each([
  { remind: [] },
  { remind: ['soon'] },
  { remind: '1h' },
  { escalate: [{ after: '1h' }] },
  { escalate: [{ after: '1h', to: {} }] },
  { escalate: [{ after: '1h', to: { people: 'ann' } }] },
  { escalate: [{ after: '1h', to: 'boss' }] },
  { expireAfter: '1w' },
  { expireAfter: '1h', expiresIn: 5 },
  { remind: ['1h'], remindAfter: 5 },
  { businessHours: {} },
  ...[
    { timeZone: 'Mars/Olympus' },
    { days: [] },
    { days: ['Mon'] },
    { from: '17:00', to: '09:00' },
    { from: '9:00' },
    { to: '25:00' },
    { holidays: ['2026-02-30'] },
    { holidays: ['christmas'] },
    { zone: 'UTC' },
  ].map((hours) => ({ businessHours: { timeZone: 'UTC', ...hours } })),
])('invalid options are refused: %j', (options) => {
  expect(askProblem(options as unknown as WaitOptions)).toEqual(expect.any(String));
});
