// One tally counts one vote and many: decisions here and now, edits, grants and evidence are all counted by it.
import { isObject, type Json, sameJson } from '../json.ts';
import { meets } from './condition.ts';
import { matched } from './matching.ts';
import {
  admitsDelegates,
  type Ballot,
  circlesOf,
  type Group,
  isAmong,
  namesDeciders,
  type Policies,
  type Policy,
  type Vote,
  type Who,
} from './policy.ts';

/** A group that is short of so many votes. */
export type Missing = { readonly of: Who; readonly count: number };

export type Tally =
  /** The decision of this vote is taken. */
  | { readonly status: 'settled'; readonly vote: Vote }
  | { readonly status: 'waiting'; readonly missing: readonly Missing[] };

/**
 * Counts the votes. Every policy must be satisfied; one that is rejected rejects the request. `input` is what would run if the
 * decision that was voted for last is taken. An edit voids the votes before it, and the votes after it mean the edited input.
 */
export function tally(policies: Policies, ballot: Ballot, input: Json): Tally {
  const tallies = policies.map((policy, index) => tallyOne(policy, index, ballot, input));
  const settled = tallies.flatMap((result) => (result.status === 'settled' ? [result] : []));
  const against = settled.find(({ vote }) => !isFor(vote));
  if (against) return against;
  const last = settled.at(-1);
  if (last && settled.length === tallies.length) return last;
  return {
    status: 'waiting',
    // One vote counts for every policy, so of the same people the most that one policy lacks are missing.
    missing: joined(
      tallies.flatMap((result) => (result.status === 'waiting' ? result.missing : [])),
      (one, other) => (one > other ? one : other),
    ),
  };
}

/** One group for the same people. */
function joined(missing: readonly Missing[], counted: (one: number, other: number) => number): readonly Missing[] {
  if (missing.length < 2) return missing;
  const groups: Missing[] = [];
  for (const group of missing) {
    const at = groups.findIndex(({ of }) => sameJson(of, group.of));
    const same = groups[at];
    if (same) groups[at] = { of: same.of, count: counted(same.count, group.count) };
    else groups.push(group);
  }
  return groups;
}

function tallyOne(policy: Policy, index: number, ballot: Ballot, input: Json): Tally {
  const groups = groupsFor(policy, input);
  const escalatedTo = (ballot.escalatedTo ?? []).filter(({ policy: place = index }) => place === index);
  const standing = standingVotes(ballot.votes);
  const against = standing.filter((vote) => !isFor(vote) && isAdmitted(policy, vote, escalatedTo));
  const needed = groups.reduce((sum, { count }) => sum + count, 0);
  const last = against.at(-1);
  if (last && (policy.veto !== 'majority' || against.length * 2 > needed)) return { status: 'settled', vote: last };
  const proposal = standing.findLast(isFor);
  const agreeing = proposal ? standing.filter((vote) => isSameDecision(vote, proposal)) : [];
  const counted = agreeing.filter((vote) => isValid(policy, vote) && !isExcluded(policy, ballot, vote));
  const missing = missingFrom(groups, escalatedTo, counted);
  return proposal && missing.length === 0 ? { status: 'settled', vote: proposal } : { status: 'waiting', missing };
}

/** The votes that count now: the last one of each person since the last edit. A delegate's vote replaces those of both people. */
export function standingVotes(votes: readonly Vote[]): readonly Vote[] {
  const standing: Vote[] = [];
  for (const vote of inLastRound(votes)) {
    const people = peopleOf(vote);
    // In order: a vote that was replaced never counts again, even if the later one is replaced in turn.
    const kept = standing.filter((earlier) => !peopleOf(earlier).some((person) => people.includes(person)));
    standing.splice(0, standing.length, ...kept, vote);
  }
  // Last: a withdrawn vote does not bring back those that it replaced.
  return standing.filter(({ withdrawn }) => !withdrawn);
}

/** The last edit, and the votes after it. */
function inLastRound(votes: readonly Vote[]): readonly Vote[] {
  const edit = votes.findLastIndex(isEdit);
  return edit < 0 ? votes : votes.slice(edit);
}

/** The same decision about the same input: what the first vote of a round changed is what the others see. */
function isSameDecision(one: Vote, other: Vote): boolean {
  const [a, b] = [one, other].map(({ decision }) => {
    const { edit: _edit, replaceInput: _input, ...rest } = isObject(decision) ? decision : {};
    return rest as Json;
  });
  return sameJson(a, b);
}

/** The groups that must agree on this input. A condition that cannot be checked counts as met. */
function groupsFor(policy: Policy, input: Json): readonly Group[] {
  const { quorum = [], deciders = {} } = policy;
  const groups = quorum.filter(({ when }) => when === undefined || meets(when, input) !== false);
  if (groups.length > 0) return groups;
  if (quorum.length === 0) return [{ of: deciders, count: 1 }];
  const all = circlesOf(policy);
  const of = { people: all.flatMap(({ people = [] }) => people), roles: all.flatMap(({ roles = [] }) => roles) };
  return [{ of, count: 1 }];
}

/** The policy as it is for this input, without conditions. */
export function policyFor(policy: Policy, input: Json): Policy {
  if (!policy.quorum?.some(({ when }) => when !== undefined)) return policy;
  return { ...policy, quorum: groupsFor(policy, input).map(({ of, count }) => ({ of, count })) };
}

/** Gives each vote to at most one group, so that as many places as possible are taken. */
function missingFrom(
  groups: readonly Group[],
  escalatedTo: readonly Who[],
  votes: readonly Vote[],
): readonly Missing[] {
  const places = groups.flatMap((group) => Array.from({ length: group.count }, () => group));
  const fits = (vote: Vote, { of }: Group) => [of, ...escalatedTo].some((who) => isAmong(who, vote));
  const taken = matched(places, votes, fits);
  const missing = groups.flatMap((group) => {
    const count = places.filter((place, index) => place === group && !taken.has(index)).length;
    return count > 0 ? [{ of: group.of, count }] : [];
  });
  return joined(missing, (one, other) => one + other);
}

const typeOf = ({ decision }: Vote): unknown => (isObject(decision) ? decision.type : undefined);

/** Rejections, cancellations and requests for changes are against; every other decision lets the call continue. */
export const isFor = (vote: Vote): boolean => !AGAINST.has(typeOf(vote));

const AGAINST: ReadonlySet<unknown> = new Set(['reject', 'cancel', 'revise']);

/** The vote changes the input. */
export const isEdit = ({ decision }: Vote): boolean =>
  isObject(decision) && (decision.edit !== undefined || decision.replaceInput !== undefined);

/** The policy lets this person vote. */
export function isAdmitted(policy: Policy, vote: Vote, escalatedTo: readonly Who[]): boolean {
  const circles = circlesOf(policy);
  return circles.length === 0 || [...circles, ...escalatedTo].some((who) => isAmong(who, vote));
}

/** The vote is signed where the policy asks for that, and made by the person themselves where it must be. */
export function isValid(policy: Policy, { signature, onBehalfOf }: Vote): boolean {
  return (!policy.signed || signature !== undefined) && (onBehalfOf === undefined || admitsDelegates(policy));
}

/**
 * With `notRequester`: the voter, or the person whom they stand in for, took part in the request. If it is not known who did, only
 * people whom this policy itself names count: another policy never widens it.
 */
export function isExcluded(policy: Policy, { requesters, votes }: Ballot, vote: Vote): boolean {
  if (!policy.notRequester) return false;
  if (requesters.length === 0 && !namesDeciders(policy)) return true;
  const involved = new Set([...requesters, ...votes.filter(isEdit).flatMap(peopleOf)]);
  return peopleOf(vote).some((person) => involved.has(person));
}

/** The voter, and the person whom they stand in for. */
export function peopleOf({ by, onBehalfOf }: Pick<Vote, 'by' | 'onBehalfOf'>): readonly string[] {
  return [...new Set([by, onBehalfOf])].filter((person) => typeof person === 'string');
}
