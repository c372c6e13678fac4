// Settles questions that the votes so far are enough for, because others count now: a policy was applied again, or more people
// may decide.

import { standingVotes, tally } from '../../core/authority/policy.ts';
import { matchDecisions, readResume } from '../../core/run/decide.ts';
import { applyDecisions } from '../../loop/resume.ts';
import type { Run } from '../../loop/run.ts';
import { pendingCards, willRun } from './card.ts';
import { type DecisionInput, decisionPart } from './decision.ts';
import type { Settling } from './expiry.ts';
import { ballotOf, policyOn } from './progress.ts';
import { onRecord } from './votes.ts';

/** Records the decision of the vote that settles each of them. */
export function settleCounted(run: Run, settling: Settling, startedBy: string | null, at: number): void {
  for (const [key, card] of pendingCards(settling.runId, run.state)) {
    const policy = policyOn(card);
    if (!policy || !card.progress) continue;
    const ballot = ballotOf(card.progress, startedBy);
    const counted = tally(policy, ballot, willRun(card.part));
    if (counted.status === 'waiting') continue;
    const { by, channel = null, note = null, decision } = counted.vote;
    const signed = { ...(by !== null && { by }), ...(channel !== null && { channel }), ...(note !== null && { note }) };
    const made = readResume([decisionPart(card.part, decision as DecisionInput, signed)]);
    const { decisions, bounds } = onRecord(made, [card]);
    const { matched, faults } = matchDecisions(
      run.state.turn,
      decisions,
      () => false,
      (where) => bounds.get(where),
    );
    if (faults.length > 0) continue;
    settling.settle(key, { decision, by, channel, note, at, votes: standingVotes(ballot.votes) });
    applyDecisions(run, matched, undefined);
  }
}
