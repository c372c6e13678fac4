// Whether a request can still be approved by the people who are known: otherwise it would wait for ever.
import type { Json } from '../json.ts';
import { mayDecide, type Voter } from './may-decide.ts';
import type { Ballot, Policies, Vote } from './policy.ts';
import { isFor, type Missing, peopleOf, standingVotes, tally } from './tally.ts';

/**
 * The votes that stay missing even if each of these people approves; none if they suffice. `input`: what would run. Signatures are
 * taken as given: whether a person has a passkey is not known here.
 */
export function outOfReach(
  policies: Policies,
  ballot: Ballot,
  known: readonly Voter[],
  input: Json,
): readonly Missing[] {
  const standing = standingVotes(ballot.votes);
  const agreed = new Set(standing.filter(isFor).flatMap(peopleOf));
  const more: Vote[] = [];
  for (const voter of known) {
    const vote: Vote = { ...voter, decision: { type: 'approve' }, signature: true };
    if (peopleOf(vote).some((person) => agreed.has(person))) continue;
    if (mayDecide(policies, ballot, vote).ok) more.push(vote);
  }
  const result = tally(policies, { ...ballot, votes: [...ballot.votes, ...more] }, input);
  return result.status === 'waiting' ? result.missing : [];
}
