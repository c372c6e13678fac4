import { policiesIn } from '../../core/authority/ballots.ts';
import { ANYONE, type Ballot, type Escalated, isPlain, type Policies, type Vote } from '../../core/authority/policy.ts';
import { type Missing, standingVotes, type Tally, tally } from '../../core/authority/tally.ts';
import { defined, type Json } from '../../core/json.ts';
import type { Escalation } from '../../core/run/event.ts';
import { type PendingCard, willRun } from './card.ts';

/** What a question has collected, for people: the votes that count now, and those that are missing. */
export type VotingProgress = {
  readonly votes: readonly Vote[];
  readonly missing: readonly Missing[];
  readonly escalatedTo: readonly Escalated[];
  readonly assignedTo: string | null;
  /** How often it was assigned to a person, and when it was last; absent if it never was. */
  readonly assignments?: number;
  readonly assignedAt?: number;
  /** 1, and one more for each edit that others had to agree to. */
  readonly round: number;
  /** The policies that were applied after the request was made. */
  readonly policies?: Policies;
  /** The escalations of the policies that count now, if those on the card do not count any more. */
  readonly escalate?: readonly Escalation[];
};

/** The policies that count for a request: those applied last. */
export function policiesOn({ progress, interrupt }: Pick<PendingCard, 'progress' | 'interrupt'>): Policies {
  return policiesIn(progress, interrupt) ?? ANYONE;
}

export function ballotOf({ progress, interrupt }: Pick<PendingCard, 'progress' | 'interrupt'>): Ballot {
  const { votes = [], escalatedTo = [] } = progress ?? {};
  return { votes, requesters: interrupt.requesters ?? [], escalatedTo };
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
    ...defined({ policies: progress.policies, escalate: progress.escalate }),
  };
}

/** The progress of an untouched request; null if anyone may decide it. */
export function unvoted(policies: Policies, requesters: readonly string[], input: Json): VotingProgress | null {
  if (isPlain(policies)) return null;
  const missing = missingIn(tally(policies, { votes: [], requesters }, input));
  return { votes: [], missing, escalatedTo: [], assignedTo: null, round: 1 };
}

const missingIn = (counted: Tally): readonly Missing[] => (counted.status === 'waiting' ? counted.missing : []);
