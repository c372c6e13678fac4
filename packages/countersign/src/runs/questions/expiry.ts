// Deadlines that have passed: they decide as the question said they would.
import { matchDecisions, readResume } from '../../core/decide.ts';
import type { State } from '../../core/state.ts';
import { applyDecisions, DEADLINE } from '../../loop/resume.ts';
import type { Run } from '../../loop/run.ts';
import { type PendingCard, pendingCards } from './card.ts';
import { decisionPart, type Settlement, type Withdrawal } from './decision.ts';

/** What goes on record of a question that was passed over: the user said something else, or its call reported its result. */
export type Withdrawn = Required<Pick<Withdrawal, 'withdrawn' | 'by' | 'at'>> & { readonly note?: string };

/** Who hears how a question was settled. */
export type Settling = { readonly runId: string; settle(key: string, settlement: Settlement | Withdrawn): void };

/** Who tells the time of the store. */
type Time = { readonly clock: () => number; askTime(): Promise<void> };

/**
 * Asks the store for its time where something may be over by it: a deadline, or how long a call in doubt takes to settle.
 * Another server with another clock may have followed the one that told it some seconds ago.
 */
export async function askIfOver(runId: string, state: State, time: Time): Promise<void> {
  const now = time.clock();
  const isStarted = state.turn?.calls.some(({ phase }) => phase.at === 'started');
  if (isStarted || [...pendingCards(runId, state).values()].some((card) => isExpired(card, now))) await time.askTime();
}

/** The deadline of the question has passed. */
export function isExpired({ interrupt: { expiresAt } }: PendingCard, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}

/** A question that nobody decided in time is decided as it said it would be; a question cannot be approved. */
export function expireCards(run: Run, settling: Settling, now: number): void {
  for (const [key, card] of pendingCards(settling.runId, run.state)) {
    if (!isExpired(card, now)) continue;
    const { onExpiry = 'reject' } = card.interrupt;
    const type = onExpiry === 'approve' && card.kind === 'question' ? 'cancel' : onExpiry;
    const note = 'Nobody decided in time.';
    const part = decisionPart(card.part, type === 'approve' ? type : { type, reason: note }, {
      by: DEADLINE,
      note,
    });
    const { matched, faults } = matchDecisions(run.state.turn, readResume([part]), () => false);
    if (faults.length > 0) continue;
    settling.settle(key, { decision: { type }, by: DEADLINE, channel: null, note, at: now });
    applyDecisions(run, matched, undefined);
  }
}
