// Reminders as both SQL stores keep them.
import { mapValid } from '../../runs/port/skip-invalid.ts';
import type { TakenReminder } from '../../runs/port/store.ts';
import { type InterruptRow, interruptOf } from './rows.ts';

/** Written as the index has it: the request is pending and its reminder was not confirmed. */
export const REMINDER_IS_OPEN = 'remind_at IS NOT NULL AND reminded_at IS NULL AND settled_at IS NULL';

export const REMINDER_DUE_AT = 'coalesce(reminder_due_at, remind_at)';

export type ReminderRow = InterruptRow & { readonly attempt: number };

/** Sorts them, since databases return them in any order. */
export function remindersOf(rows: readonly ReminderRow[]): readonly TakenReminder[] {
  const taken = mapValid(rows, (row) => ({ interrupt: interruptOf(row), attempt: row.attempt }));
  return [...taken].sort((a, b) => (a.interrupt.remindAt ?? 0) - (b.interrupt.remindAt ?? 0));
}
