// Which notices of a request are due where, and which are no longer needed. Pure: the same request and entry, the same plan.

import type { NoticeType, RequestNotice } from '../../core/request/notice.ts';
import type { RunRequest } from '../requests/view.ts';
import type { Entry } from './entries.ts';

/** `send` in this order; `skip` need not be sent, because something newer says it too. */
export type Plan = { readonly send: readonly RequestNotice[]; readonly skip: readonly RequestNotice[] };

const OVER: ReadonlySet<NoticeType> = new Set(['decided', 'expired', 'withdrawn']);

export const isOver = ({ type }: { readonly type: NoticeType }): boolean => OVER.has(type);

/** The notices that the entry lacks. */
export function undelivered(
  notices: readonly RequestNotice[],
  { delivered }: Pick<Entry, 'delivered'>,
): readonly RequestNotice[] {
  const known = new Set(delivered.map(({ key }) => key));
  return notices.filter(({ key }) => !known.has(key));
}

/** `notices`: those that concern the recipient. `all`: the channel wants each of them. */
export function planFor(notices: readonly RequestNotice[], entry: Entry, all: boolean): Plan {
  const last = notices.at(-1);
  if (entry.again && last) return { send: [last], skip: [] };
  const missing = undelivered(notices, entry);
  if (all) return { send: missing, skip: [] };
  const over = missing.find(isOver);
  // A request that is over is announced only to correct an earlier notice.
  if (over) return { send: entry.sent ? [over] : [], skip: missing.filter((notice) => notice !== over) };
  const send = missing.filter((notice) => !isOutdated(notice, missing));
  return { send, skip: missing.filter((notice) => !send.includes(notice)) };
}

/**
 * A reminder says nothing new beside another notice that is due, and an assignment says that the request is open. The last comment
 * says that there are comments.
 */
function isOutdated(notice: RequestNotice, due: readonly RequestNotice[]): boolean {
  if (notice.type === 'commented')
    return due.some(({ type, number }) => type === 'commented' && number > notice.number);
  if (notice.type === 'reminded') return due.some((other) => other.type !== 'reminded' || other.number > notice.number);
  return notice.type !== 'assigned' && due.some(({ type }) => type === 'assigned');
}

/** Whether the notice still concerns a person: they have not voted, and the request is not someone else's now. */
export function stillConcerns(
  { type }: RequestNotice,
  { progress }: RunRequest,
  person: string,
  onBehalfOf: string | undefined,
): boolean {
  if (isOver({ type }) || type === 'commented') return true;
  const { assignedTo = null, votes = [] } = progress ?? {};
  const isSame = (id: string | null | undefined) =>
    id === person || (id !== undefined && id !== null && id === onBehalfOf);
  if (votes.some(({ by, onBehalfOf: absent }) => isSame(by) || isSame(absent))) return false;
  return type === 'escalated' || assignedTo === null || isSame(assignedTo);
}

/** When people are reminded next of a pending request. */
export function nextReminderOf({ settledAt, reminders }: RunRequest, now: number): number | undefined {
  return settledAt === null ? reminders.find((at) => at > now) : undefined;
}
