// The notices of a request: what people are told about it, from what its record says now.

import type { Json } from '../json.ts';
import { DEADLINE } from '../run/event.ts';
import type { CallOutcome, NotRun } from './outcome.ts';
import type { RequestView, VotingProgress } from './view.ts';

/**
 * What people are told about a request. `opened`: it waits for them. `doubt`: it asks about a call whose outcome is unknown.
 * `escalated` and `assigned`: it waits for other people now. `commented`: someone said something about it. `decided`, `expired` and
 * `withdrawn`: it is over. `done`, `failed`, `unknown` and `not-run`: what came of the call after it was approved.
 */
export type NoticeType =
  | 'opened'
  | 'doubt'
  | 'reminded'
  | 'escalated'
  | 'assigned'
  | 'commented'
  | 'decided'
  | 'expired'
  | 'withdrawn'
  | 'done'
  | 'failed'
  | 'unknown'
  | 'not-run';

/** `key`: unique among the notices of the request, and always the same for the same notice. */
export type RequestNotice = {
  readonly key: string;
  readonly type: NoticeType;
  /** Which reminder, escalation or comment it is, from 1; 0 for other notices. */
  readonly number: number;
  readonly at: number;
};

/** The parts of a request that its notices come from. */
export type NoticedRequest = Pick<RequestView, 'kind' | 'expiresAt' | 'reminders' | 'escalate'> & {
  readonly createdAt: number;
  readonly settledAt: number | null;
  readonly progress: Omit<VotingProgress, 'votes' | 'missing'> | null;
  readonly settlement: {
    readonly decision?: Json | undefined;
    readonly by?: string | null;
    readonly channel?: string | null | undefined;
    /** A grant let the call run. */
    readonly granted?: unknown;
    /** A rule would have asked, and only observed. */
    readonly observed?: unknown;
  } | null;
  /** What came of the call after the decision. */
  readonly outcome?: CallOutcome | null;
};

/**
 * The notices up to this time, in order. A later call returns the same ones and perhaps more, except for earlier assignments and
 * an outcome that was unknown.
 */
export function noticesOf(question: NoticedRequest, now: number): readonly RequestNotice[] {
  const { kind, createdAt, settledAt, settlement } = question;
  // Nobody was asked. Those who were told of the request that let the call run learn from it that it was recalled.
  if (kind === 'recall' || (settlement?.granted ?? settlement?.observed)) return [];
  const opened: RequestNotice = notice(kind === 'doubt' ? 'doubt' : 'opened', createdAt, 'opened');
  const meanwhile = [
    ...escalations(question),
    ...assignment(question),
    ...comments(question),
    ...reminders(question, now),
  ];
  meanwhile.sort((a, b) => a.at - b.at);
  if (settledAt === null) return [opened, ...meanwhile];
  return [opened, ...meanwhile, notice(endOf(question), settledAt, 'settled'), ...outcomes(question, settledAt)];
}

/** These outcomes say no more than the decision. */
const SAID_BY_DECISION: ReadonlySet<NotRun> = new Set([
  'rejected',
  'cancelled',
  'changes-asked',
  'expired',
  'withdrawn',
  'edited',
]);

/** Whether the decision let the call run, so that what came of it is news. */
export const mayHaveRun = (outcome: CallOutcome | null | undefined): outcome is CallOutcome =>
  !!outcome && !(outcome.state === 'not-run' && SAID_BY_DECISION.has(outcome.why));

function outcomes({ outcome }: NoticedRequest, settledAt: number): readonly RequestNotice[] {
  if (!mayHaveRun(outcome) || outcome.state === 'running' || outcome.state === 'frozen') return [];
  return [notice(outcome.state, outcome.at ?? settledAt, `outcome-${outcome.state}`)];
}

function notice(type: NoticeType, at: number, key: string, number = 0): RequestNotice {
  return { key, type, number, at };
}

/** The record does not say when they happened, only when they were due. */
function escalations(question: NoticedRequest): readonly RequestNotice[] {
  const escalate = question.progress?.escalate ?? question.escalate;
  const count = question.progress?.escalatedTo.length ?? 0;
  return escalate.slice(0, count).flatMap(({ at }, index) => {
    return isOfThisRound(question, at) ? notice('escalated', at, `escalated-${index + 1}`, index + 1) : [];
  });
}

function assignment({ progress, createdAt }: NoticedRequest): readonly RequestNotice[] {
  const { assignedTo = null, assignments = 1, assignedAt = createdAt } = progress ?? {};
  if (assignedTo === null) return [];
  return [notice('assigned', assignedAt, `assigned-${assignedTo}-${assignments}`)];
}

function comments({ progress, createdAt }: NoticedRequest): readonly RequestNotice[] {
  return (progress?.comments ?? []).map(({ number, at = createdAt }) =>
    notice('commented', at, `commented-${number}`, number),
  );
}

function reminders(question: NoticedRequest, now: number): readonly RequestNotice[] {
  const { expiresAt, settledAt } = question;
  const isOver = (at: number): boolean => [expiresAt, settledAt].some((end) => end !== null && at >= end);
  return question.reminders.flatMap((at, index) => {
    const isDue = at <= now && !isOver(at) && isOfThisRound(question, at);
    return isDue ? notice('reminded', at, `reminded-${index + 1}`, index + 1) : [];
  });
}

/** An edit that others must agree to is a new request, with the times of the first one. */
function isOfThisRound({ progress, createdAt }: NoticedRequest, at: number): boolean {
  return (progress?.round ?? 1) === 1 || at > createdAt;
}

function endOf({ settlement }: NoticedRequest): NoticeType {
  if (settlement?.decision === undefined) return 'withdrawn';
  return settlement.by === DEADLINE && settlement.channel === null ? 'expired' : 'decided';
}
