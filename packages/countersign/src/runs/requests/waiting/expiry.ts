// Deadlines that have passed decide as their request says.

import { dueOn } from '../../../core/authority/due.ts';
import { deadlineMayApprove } from '../../../core/authority/policy.ts';
import type { Wait } from '../../../core/request/request.ts';
import { matchedOf } from '../../../core/run/decide.ts';
import type { State } from '../../../core/run/state.ts';
import { applyDecisions, DEADLINE } from '../../../loop/resume.ts';
import type { Run } from '../../../loop/run.ts';
import type { StoreTime } from '../../port/store-time.ts';
import { type PendingCard, pendingCards } from '../card.ts';
import { decisionFrom, type Settlement, type Withdrawal } from '../decision.ts';
import { decisionOn, findOnCards } from '../on-cards.ts';
import { policiesOn } from '../progress.ts';
import { waitingOn } from './escalation.ts';

/** Records how a request was settled. */
export type Settling = {
  readonly runId: string;
  settle(key: string, settlement: Settlement | Omit<Withdrawal, 'decision' | 'channel'>): void;
};

/** Asks for the time if a deadline, escalation or settling time may have passed: a failover may have changed the clock of the store. */
export async function fetchTimeIfExpired(
  runId: string,
  state: State,
  time: Pick<StoreTime, 'now' | 'ask'>,
): Promise<void> {
  const now = time.now();
  const isStarted = state.turn?.calls.some(({ phase }) => phase.at === 'started');
  if (isStarted || [...pendingCards(runId, state).values()].some((card) => dueOn(waitingOn(card), now)))
    await time.ask();
}

/** The deadline of the request has passed. */
export function isExpired({ request: { wait } }: PendingCard, now: number): boolean {
  const { expiresAt } = wait ?? {};
  return expiresAt !== undefined && expiresAt <= now;
}

/** A request in the run has expired. */
export function hasExpired(runId: string, state: State, now: number): boolean {
  return [...pendingCards(runId, state).values()].some((card) => isExpired(card, now));
}

/** What the deadline decides. A request without a call to run is cancelled instead of approved. */
export function endingOf(card: PendingCard): NonNullable<Wait['onExpiry']> {
  const { request, progress } = card;
  const { onExpiry = 'reject' } = request.wait ?? {};
  if (onExpiry !== 'approve') return onExpiry;
  // No deadline agrees to an edit: it was others who had to.
  if (progress?.edit || !deadlineMayApprove(policiesOn(card))) return 'reject';
  return request.kind === 'question' ? 'cancel' : 'approve';
}

/** Records the decisions of expired requests. */
export function expireCards(run: Run, settling: Settling, now: number): void {
  for (const [key, card] of pendingCards(settling.runId, run.state)) {
    if (!isExpired(card, now)) continue;
    const type = endingOf(card);
    const note = card.request.kind === 'recall' ? 'Nobody recalled it in time.' : 'No one decided in time.';
    const ending = type === 'approve' ? type : { type, reason: note };
    const decided = decisionOn(card, decisionFrom(ending, { by: DEADLINE, note }));
    const { leaves, faults } = findOnCards(run.state, decided, new Map([[key, card]]));
    if (faults.length > 0) continue;
    settling.settle(key, { decision: { type }, by: DEADLINE, channel: null, note, at: now });
    applyDecisions(run, matchedOf(leaves), undefined);
  }
}
