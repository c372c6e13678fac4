// May this person make this decision on this request? Every door asks this, and so does the check of evidence.
import type { Json } from '../json.ts';
import {
  admitsDelegates,
  type Ballot,
  circlesOf,
  type Escalated,
  namesDeciders,
  type Policies,
  type Policy,
  type Vote,
  whoText,
} from './policy.ts';
import { isAdmitted, isEdit, isExcluded, isFor, isValid, tally } from './tally.ts';

/** `signature-required`: the vote would count if it were signed. */
export type MayDecide =
  | { readonly ok: true }
  | { readonly ok: false; readonly why: string; readonly code: 'not-allowed' | 'signature-required' };

/**
 * Whether the vote can be recorded. A policy that names nobody limits every vote; of those that name deciders, at least one must
 * name the voter.
 */
export function mayDecide(policies: Policies, ballot: Ballot, vote: Vote): MayDecide {
  const verdicts = policies.map((policy, index) => mayVote(policy, index, ballot, vote));
  const refused = verdicts.find((verdict, index) => !verdict.ok && !namesDeciders(policies[index] ?? {}));
  if (refused) return refused;
  const naming = verdicts.filter((_, index) => namesDeciders(policies[index] ?? {}));
  return naming.length === 0 ? YES : (naming.find(({ ok }) => ok) ?? naming[0] ?? YES);
}

const YES: MayDecide = { ok: true };

function mayVote(policy: Policy, index: number, ballot: Ballot, vote: Vote): MayDecide {
  const escalatedTo = (ballot.escalatedTo ?? []).filter(({ policy: place = index }: Escalated) => place === index);
  const no = (why: string, code: 'not-allowed' | 'signature-required' = 'not-allowed'): MayDecide => ({
    ok: false,
    why,
    code,
  });
  if (vote.by === null && (namesDeciders(policy) || policy.notRequester))
    return no('Its policy counts votes of people, and this vote has no person: pass `by`.');
  if (!isAdmitted(policy, vote, escalatedTo)) {
    const who = [...circlesOf(policy), ...escalatedTo].flatMap(whoText);
    return no(`${nameOf(vote)} is not among its deciders: ${who.join(', ')}.`);
  }
  if (isFor(vote) && !isEdit(vote) && isExcluded(policy, ballot, vote))
    return no(
      ballot.requesters.length > 0
        ? `${nameOf(vote)} started the run, wrote the message, edited the input or asked for changes, and its policy asks for another person (notRequester).`
        : 'Its policy asks for another person than the requester (notRequester), who is not known, and it names nobody: name `deciders`.',
    );
  if (isValid(policy, vote)) return YES;
  if (vote.onBehalfOf !== undefined && !admitsDelegates(policy))
    return no(
      `Its policy asks for signatures of its deciders themselves, so ${vote.by} cannot decide for ${vote.onBehalfOf}.`,
    );
  return no('Its policy asks for decisions that are signed with a passkey.', 'signature-required');
}

/** `Anna for Ben`, or `Anna`. */
const nameOf = ({ by, onBehalfOf }: Vote): string =>
  onBehalfOf === undefined ? (by ?? 'Nobody') : `${by} for ${onBehalfOf}`;

/** A person about to vote: with their own roles, or on behalf of an absent person with that person's roles. */
export type Voter = Pick<Vote, 'by' | 'roles' | 'onBehalfOf'>;

/** The rights of a person on an open request: to vote at all, and to approve. Signatures are not checked here. */
export type VoteRights = { readonly mayVote: boolean; readonly mayApprove: boolean };

/** `voters`: the person alone, and for each one whom they stand in for. */
export function voteRights(policies: Policies, ballot: Ballot, voters: readonly Voter[]): VoteRights {
  const may = (type: string) =>
    voters.some((voter) => mayDecide(policies, ballot, { ...voter, decision: { type }, signature: true }).ok);
  return { mayVote: may('reject'), mayApprove: may('approve') };
}

/** Whether the approval of one of these voters would settle the request now. Signatures are not checked here. */
export function settlesAlone(policies: Policies, ballot: Ballot, input: Json, voters: readonly Voter[]): boolean {
  return voters.some((voter) => {
    const vote: Vote = { ...voter, decision: { type: 'approve' }, signature: true };
    const votes = [...ballot.votes, vote];
    return mayDecide(policies, ballot, vote).ok && tally(policies, { ...ballot, votes }, input).status === 'settled';
  });
}
