// Deadlines that have passed: they decide as the question said they would.
import { matchDecisions } from '../core/decide.ts';
import { applyDecisions, DEADLINE } from '../loop/resume.ts';
import type { Run } from '../loop/run.ts';
import { pendingCards } from './card.ts';
import { decisionPart } from './decision.ts';
import type { Journal } from './journal.ts';

/** A question that nobody decided in time is decided as it said it would be; a question cannot be approved. */
export function expireCards(run: Run, journal: Journal, now: number): void {
  for (const [key, card] of pendingCards(journal.runId, run.state)) {
    const { expiresAt, onExpiry = 'reject' } = card.interrupt;
    if (expiresAt === undefined || expiresAt > now) continue;
    const type = onExpiry === 'approve' && card.kind === 'question' ? 'cancel' : onExpiry;
    const note = 'Nobody decided in time.';
    const { verb, part } = decisionPart(card.part, type === 'approve' ? type : { type, reason: note }, {
      by: DEADLINE,
      note,
    });
    const { matched, faults } = matchDecisions(run.state.turn, { [verb]: part }, () => false);
    if (faults.length > 0) continue;
    journal.settle(key, { decision: { type }, by: DEADLINE, channel: null, note, at: now });
    applyDecisions(run, matched, undefined);
  }
}
