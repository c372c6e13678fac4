// Counts time in business hours. Loaded only when a request needs it, because the calendar is large.
import { Temporal } from 'temporal-polyfill';
import { LONGEST_SPAN_MS, type Span } from '../tool/duration.ts';
import { type BusinessHours, DAYS } from '../tool/time-options.ts';

const WORKING_DAYS = DAYS.slice(0, 5);

/** Returns when so much working time after `start` has passed, in milliseconds. Throws if that is more than ten years away. */
export function businessCalendar(hours: BusinessHours): (start: number, span: Span) => number {
  const { timeZone, days = WORKING_DAYS, from = '09:00', to = '17:00' } = hours;
  const holidays = new Set(hours.holidays);

  const isWorkingDay = (date: Temporal.PlainDate): boolean => {
    const text = date.toString();
    const day = DAYS[date.dayOfWeek - 1];
    return day !== undefined && days.includes(day) && !holidays.has(text) && !holidays.has(text.slice(5));
  };
  /** A time that a change of the clock skips is that much later. */
  const timeOn = (date: Temporal.PlainDate, time: string): Temporal.ZonedDateTime =>
    time === '24:00'
      ? date.add({ days: 1 }).toZonedDateTime({ timeZone })
      : date.toZonedDateTime({ timeZone, plainTime: time });

  /** The working days from this one on, each from when to when people work. */
  function* shiftsFrom(first: Temporal.ZonedDateTime): Generator<Shift> {
    const until = first.epochMilliseconds + LONGEST_SPAN_MS;
    for (let date = first.toPlainDate(); ; date = date.add({ days: 1 })) {
      const opensAt = timeOn(date, from).epochMilliseconds;
      if (opensAt > until) throw new RangeError('these business hours are more than ten years away');
      if (isWorkingDay(date)) yield { date, opensAt, closesAt: timeOn(date, to).epochMilliseconds };
    }
  }

  return (start, { ms, days: wholeDays }) => {
    const first = Temporal.Instant.fromEpochMilliseconds(start).toZonedDateTimeISO(timeZone);
    let left = wholeDays ?? ms;
    let timeOfDay: string | undefined;
    for (const { date, opensAt, closesAt } of shiftsFrom(first)) {
      const begin = Math.max(opensAt, start);
      if (begin >= closesAt) continue;
      if (wholeDays === undefined) {
        if (left <= closesAt - begin) return begin + left;
        left -= closesAt - begin;
      } else {
        timeOfDay ??= Temporal.Instant.fromEpochMilliseconds(begin)
          .toZonedDateTimeISO(timeZone)
          .toPlainTime()
          .toString();
        if (left === 0) return timeOn(date, timeOfDay).epochMilliseconds;
        left -= 1;
      }
    }
    throw new RangeError('these business hours have no end');
  };
}

type Shift = { readonly date: Temporal.PlainDate; readonly opensAt: number; readonly closesAt: number };
