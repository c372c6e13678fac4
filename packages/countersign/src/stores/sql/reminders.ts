// What the stores have in common about reminders: when one is due, and how long it is left alone once it was taken.
import { mapValid } from '../../runs/port/skip-invalid.ts';
import type { TakenReminder } from '../../runs/port/store.ts';
import { type InterruptRow, interruptOf } from './rows.ts';

/** A lease is twice as long with each attempt, but no more often than this. */
export const MOST_DOUBLINGS = 6;

/** Whoever changed a row may have left more, or less than none: one that cannot be counted fails them all. */
export const MOST_ATTEMPTS = 1_000_000;

/** In SQL, and said as the index says it: nobody was reminded yet, and the question waits. */
export const REMINDER_WAITS = 'remind_at IS NOT NULL AND reminded_at IS NULL AND settled_at IS NULL';

export const REMINDER_DUE_AT = 'coalesce(reminder_due_at, remind_at)';

export type ReminderRow = InterruptRow & { readonly attempt: number };

/** The databases give them in no order. One whose question cannot be read is left out, and given again later. */
export function remindersOf(rows: readonly ReminderRow[]): readonly TakenReminder[] {
  const taken = mapValid(rows, (row) => ({ interrupt: interruptOf(row), attempt: row.attempt }));
  return [...taken].sort((a, b) => (a.interrupt.remindAt ?? 0) - (b.interrupt.remindAt ?? 0));
}
