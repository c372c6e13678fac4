// What a request has collected so far, as it counts.

import { policiesIn } from '../../core/authority/ballots.ts';
import { type Ballot, isPlain, type Policies } from '../../core/authority/policy.ts';
import { type Missing, standingVotes, type Tally, tally } from '../../core/authority/tally.ts';
import { defined, type Json } from '../../core/json.ts';
import type { VotingProgress } from '../../core/request/view.ts';
import { type PendingCard, willRun } from './card.ts';

/** The policies that count for a request: those applied last. */
export function policiesOn({ progress, request }: Pick<PendingCard, 'progress' | 'request'>): Policies {
  return policiesIn(progress, request);
}

export function ballotOf({ progress, request }: Pick<PendingCard, 'progress' | 'request'>): Ballot {
  const { votes = [], escalatedTo = [] } = progress ?? {};
  return { votes, requesters: request.authority.requesters, escalatedTo };
}

/** Null for an untouched request that anyone may decide. */
export function progressOn(card: PendingCard): VotingProgress | null {
  const { progress, part } = card;
  const policies = policiesOn(card);
  const ballot = ballotOf(card);
  if (!progress) return unvoted(policies, ballot.requesters, willRun(part));
  return {
    votes: standingVotes(ballot.votes),
    missing: isPlain(policies) ? [] : missingIn(tally(policies, ballot, willRun(part))),
    escalatedTo: progress.escalatedTo,
    assignedTo: progress.assignedTo ?? null,
    ...defined({ assignments: progress.assignments, assignedAt: progress.assignedAt }),
    round: progress.round,
    ...defined({ comments: progress.comments, policies: progress.policies, escalate: progress.escalate }),
    ...defined({ reviews: progress.reviews }),
  };
}

/** The progress of an untouched request; null if anyone may decide it. */
export function unvoted(policies: Policies, requesters: readonly string[], input: Json): VotingProgress | null {
  if (isPlain(policies)) return null;
  const missing = missingIn(tally(policies, { votes: [], requesters }, input));
  return { votes: [], missing, escalatedTo: [], assignedTo: null, round: 1 };
}

const missingIn = (counted: Tally): readonly Missing[] => (counted.status === 'waiting' ? counted.missing : []);
