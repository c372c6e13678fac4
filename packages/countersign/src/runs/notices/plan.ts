// Which notices of a request are due where, and which are no longer needed. Pure: the same request and entry, the same plan.

import type { NoticeType, RequestNotice } from '../../core/request/notice.ts';
import type { RunRequest } from '../requests/view.ts';
import type { Entry, Told } from './entries.ts';

/** `send` in this order; `skip` need not be sent, because something newer says it too. */
export type Plan = { readonly send: readonly RequestNotice[]; readonly skip: readonly RequestNotice[] };

const OUTCOMES: ReadonlySet<NoticeType> = new Set(['done', 'failed', 'unknown', 'not-run']);
const OVER: ReadonlySet<NoticeType> = new Set(['decided', 'expired', 'withdrawn', ...OUTCOMES]);

export const isOutcome = ({ type }: { readonly type: NoticeType }): boolean => OUTCOMES.has(type);

export const isOver = ({ type }: { readonly type: NoticeType }): boolean => OVER.has(type);

/** The notices that the entry lacks. */
export function undelivered(
  notices: readonly RequestNotice[],
  { delivered }: Pick<Entry, 'delivered'>,
): readonly RequestNotice[] {
  const known = new Set(delivered.map(({ key }) => key));
  return notices.filter(({ key }) => !known.has(key));
}

/** Who hears of an end: `told-before`, the people who got an earlier notice; `always`, also others; `never`, the one who decided. */
export type Hears = 'told-before' | 'always' | 'never';

/** `notices`: those that concern the recipient. `all`: the channel wants each of them. */
export function planFor(
  notices: readonly RequestNotice[],
  entry: Entry,
  all: boolean,
  hears: (notice: RequestNotice) => Hears = () => 'told-before',
): Plan {
  const last = notices.findLast((notice) => all || !isOutcome(notice) || hears(notice) === 'always');
  if (entry.again && last) return { send: [last], skip: [] };
  const missing = undelivered(notices, entry);
  if (all) return { send: missing, skip: [] };
  if (missing.some(isOver)) {
    // A request that is over is announced only to correct an earlier notice. The decision also says what has come of it since.
    const named = missing.findLast((notice) => isOver(notice) && hears(notice) === 'always');
    const news = missing.find((notice) => isOver(notice) && hears(notice) === 'told-before');
    const over = named ?? (entry.sent && news);
    return over
      ? { send: [over], skip: missing.filter((notice) => notice !== over) }
      : { send: [], skip: missing.filter((notice) => !isOver(notice)) };
  }
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

/** Whether the notice is for this person, or for everyone on a shared channel. `told`: the reasons why the person is told. */
export function concerns(
  notice: RequestNotice,
  card: RunRequest,
  person: string | null,
  told: readonly Told[],
): boolean {
  if (person === null) return true;
  const mine = told.find(({ key }) => key === notice.key);
  if (isOver(notice)) return !isOutcome(notice) || mine !== undefined;
  return mine !== undefined && stillConcerns(notice, card, person, mine.onBehalfOf);
}

/** Whether the person hears of this end. `told`: the reasons why they are told. */
export function hearsOf(notice: RequestNotice, card: RunRequest, person: string | null, told: readonly Told[]): Hears {
  if (told.some(({ key }) => key === notice.key)) return 'always';
  if (person !== null && (isEdited(card) || isOwnDecision(card, person))) return 'never';
  return 'told-before';
}

/** After an edit, the people are asked about the new input instead. */
export const isEdited = ({ outcome }: RunRequest): boolean => outcome?.state === 'not-run' && outcome.why === 'edited';

/** Nobody is told what they decided themselves, alone or with the last vote. */
export const isOwnDecision = ({ settlement }: RunRequest, person: string): boolean => settlement?.by === person;

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

/** A decision waits so long for what comes of it, so that nobody reads *Approved* about a call that did not run. */
const OUTCOME_MS = 15_000;

/** When the approval is told at the latest; undefined if it is told now. */
export function toldAfterOutcome({ type }: RequestNotice, card: RunRequest, now: number): number | undefined {
  if (type !== 'decided' || card.settledAt === null || card.outcome?.state !== 'running') return undefined;
  const at = card.settledAt + OUTCOME_MS;
  return at > now ? at : undefined;
}

/** When people are reminded next of a pending request. */
export function nextReminderOf({ settledAt, reminders }: RunRequest, now: number): number | undefined {
  return settledAt === null ? reminders.find((at) => at > now) : undefined;
}
