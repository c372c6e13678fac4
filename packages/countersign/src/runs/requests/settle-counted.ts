// Settles requests that the votes so far are enough for, because others count now: a policy was applied again, or more people
// may decide.

import { isPlain } from '../../core/authority/policy.ts';
import { standingVotes, tally } from '../../core/authority/tally.ts';
import { matchedOf } from '../../core/run/decide.ts';
import { applyDecisions } from '../../loop/resume.ts';
import type { Run } from '../../loop/run.ts';
import { pendingCards, willRun } from './card.ts';
import { type DecisionInput, decisionFrom } from './decision.ts';
import { decisionOn, findOnCards } from './on-cards.ts';
import { ballotOf, policiesOn } from './progress.ts';
import type { Settling } from './waiting/expiry.ts';

/** Records the decision of the vote that settles each of them. */
export function settleCounted(run: Run, settling: Settling, at: number): void {
  for (const [key, card] of pendingCards(settling.runId, run.state)) {
    const policies = policiesOn(card);
    if (isPlain(policies) || !card.progress) continue;
    const ballot = ballotOf(card);
    const counted = tally(policies, ballot, willRun(card.part));
    if (counted.status === 'waiting') continue;
    const { by, channel = null, note = null, decision } = counted.vote;
    const made = decisionOn(card, decisionFrom(decision as DecisionInput, { by, channel, note }));
    const { leaves, faults } = findOnCards(run.state, made, new Map([[key, card]]));
    if (faults.length > 0) continue;
    settling.settle(key, { decision, by, channel, note, at, votes: standingVotes(ballot.votes) });
    applyDecisions(run, matchedOf(leaves), undefined);
  }
}
