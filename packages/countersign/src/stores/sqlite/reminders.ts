// Reminders in a SQLite file.
import { MOST_DOUBLINGS } from '../rules/due.ts';
import { REMINDER_DUE_AT, REMINDER_IS_OPEN, type ReminderRow } from '../sql/reminders.ts';
import type { Job } from './connection.ts';
import { interruptFields } from './dialect.ts';

/** Whether any reminder can be taken. Asked first, because a write locks the file for others. */
export function isReminderDue(clock: () => number): Job<boolean> {
  return (prepare) => {
    const now = clock();
    return prepare(DUE_REMINDERS).get(now, now, 1) !== undefined;
  };
}

export function takeReminders(limit: number, leaseMs: number, clock: () => number): Job<readonly ReminderRow[]> {
  return (prepare) => {
    const now = clock();
    return prepare(TAKE).all(now, Math.ceil(leaseMs), now, now, limit) as unknown as readonly ReminderRow[];
  };
}

export function confirmReminder(interruptId: string, clock: () => number): Job<void> {
  return (prepare) => void prepare(CONFIRM).get(clock(), interruptId);
}

/** The reminders that can be taken now, the longest due first. */
export const DUE_REMINDERS = `SELECT seq FROM countersign_interrupt
  WHERE ${REMINDER_IS_OPEN} AND ${REMINDER_DUE_AT} <= ? AND (expires_at IS NULL OR expires_at > ?)
  ORDER BY ${REMINDER_DUE_AT} LIMIT ?`;

const ATTEMPTS = 'coalesce(reminder_attempts, 0)';

const TAKE = `UPDATE countersign_interrupt SET reminder_attempts = ${ATTEMPTS} + 1,
    reminder_due_at = ? + ? * (1 << min(${ATTEMPTS}, ${MOST_DOUBLINGS}))
  WHERE seq IN (${DUE_REMINDERS})
  RETURNING ${interruptFields('countersign_interrupt')}, reminder_attempts AS attempt`;

const CONFIRM = `UPDATE countersign_interrupt SET reminded_at = ? WHERE id = ? AND ${REMINDER_IS_OPEN}`;
