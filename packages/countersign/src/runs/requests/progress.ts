// What a question has collected so far, for lists and cards: the votes that count, and those that are missing.
import type { QuestionProgress } from '../../core/authority/ballots.ts';
import {
  type Ballot,
  type Missing,
  type Policy,
  standingVotes,
  type Tally,
  tally,
  type Vote,
  type Who,
} from '../../core/authority/policy.ts';
import { defined, type Json } from '../../core/json.ts';
import { type PendingCard, willRun } from './card.ts';

/** What a question has collected, for people: the votes that count now, and those that are missing. */
export type VotingProgress = {
  readonly votes: readonly Vote[];
  readonly missing: readonly Missing[];
  readonly escalatedTo: readonly Who[];
  readonly assignedTo: string | null;
  /** How often it was assigned to a person, and when it was last; absent if it never was. */
  readonly assignments?: number;
  readonly assignedAt?: number;
  /** 1, and one more for each edit that others had to agree to. */
  readonly round: number;
  /** The policy that was applied after the question was asked. */
  readonly policy?: Policy;
};

/** The policy that counts for a question: the one applied last. */
export function policyOn({ progress, interrupt }: Pick<PendingCard, 'progress' | 'interrupt'>): Policy | undefined {
  return progress?.policy ?? interrupt.policy;
}

export function ballotOf(progress: QuestionProgress | undefined, startedBy: string | null): Ballot {
  return { votes: progress?.votes ?? [], requestedBy: startedBy, escalatedTo: progress?.escalatedTo ?? [] };
}

/** Null for an untouched question without a policy. */
export function progressOn(card: PendingCard, startedBy: string | null): VotingProgress | null {
  const { progress, part } = card;
  const policy = policyOn(card);
  if (!progress) return policy ? unvoted(policy, startedBy, willRun(part)) : null;
  const ballot = ballotOf(progress, startedBy);
  return {
    votes: standingVotes(ballot.votes),
    missing: policy ? missingIn(tally(policy, ballot, willRun(part))) : [],
    escalatedTo: progress.escalatedTo,
    assignedTo: progress.assignedTo ?? null,
    ...defined({ assignments: progress.assignments, assignedAt: progress.assignedAt }),
    round: progress.round,
    ...(progress.policy && { policy: progress.policy }),
  };
}

/** The progress of an untouched question. */
export function unvoted(policy: Policy, startedBy: string | null, input: Json): VotingProgress {
  const missing = missingIn(tally(policy, ballotOf(undefined, startedBy), input));
  return { votes: [], missing, escalatedTo: [], assignedTo: null, round: 1 };
}

const missingIn = (counted: Tally): readonly Missing[] => (counted.status === 'waiting' ? counted.missing : []);
