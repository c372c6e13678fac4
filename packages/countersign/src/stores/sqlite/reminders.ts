// Reminders in a SQLite file.
import { MOST_ATTEMPTS, MOST_DOUBLINGS, REMINDER_DUE_AT, REMINDER_WAITS, type ReminderRow } from '../sql/reminders.ts';
import type { Job } from './connection.ts';
import { interruptFields } from './dialect.ts';

/** Whether any can be taken: asked first, since whoever writes keeps others from it. */
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

export function strikeReminder(interruptId: string, clock: () => number): Job<void> {
  return (prepare) => void prepare(STRIKE).get(clock(), interruptId);
}

/** Those that can be taken now, the longest due first. */
export const DUE_REMINDERS = `SELECT seq FROM countersign_interrupt
  WHERE ${REMINDER_WAITS} AND ${REMINDER_DUE_AT} <= ? AND (expires_at IS NULL OR expires_at > ?)
  ORDER BY ${REMINDER_DUE_AT} LIMIT ?`;

const ATTEMPTS = `max(0, min(coalesce(reminder_attempts, 0), ${MOST_ATTEMPTS}))`;

const TAKE = `UPDATE countersign_interrupt SET reminder_attempts = ${ATTEMPTS} + 1,
    reminder_due_at = ? + ? * (1 << min(${ATTEMPTS}, ${MOST_DOUBLINGS}))
  WHERE seq IN (${DUE_REMINDERS})
  RETURNING ${interruptFields('countersign_interrupt')}, reminder_attempts AS attempt`;

const STRIKE = `UPDATE countersign_interrupt SET reminded_at = ? WHERE id = ? AND ${REMINDER_WAITS}`;
