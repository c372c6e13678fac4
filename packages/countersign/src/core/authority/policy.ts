// Policies: who must decide a question, and how many of them. One tally counts one vote and many.

import { isObject, type Json, sameJson } from '../json.ts';
import { type Condition, conditionProblem, meets } from './condition.ts';
import { type GrantMaximum, maximumProblem } from './grant-maximum.ts';

/** People by their ids, and by their roles. */
export type Who = { readonly people?: readonly string[]; readonly roles?: readonly string[] };

/** So many of these people must agree. With `when`, only for inputs that meet its conditions, or may meet them. */
export type Group = { readonly of: Who; readonly count: number; readonly when?: readonly Condition[] };

/** Who must decide a question, as data that is stored with it. A question without a policy needs one vote, of anyone. */
export type Policy = {
  readonly name?: string;
  /** These people can vote, and so can those in the groups. Without deciders and groups, anyone can. */
  readonly deciders?: Who;
  /** Four eyes: neither the person who started the run nor one who edited the input can approve. */
  readonly notRequester?: true;
  /** All groups must agree. One vote of a decider by default. */
  readonly quorum?: readonly Group[];
  /** `any`, the default: one rejection settles. `majority`: more than half as many as there are votes needed. */
  readonly veto?: 'any' | 'majority';
  /** Each vote must be signed with a passkey. */
  readonly signed?: 'passkey';
  /** With `signed`: delegates of absent people may vote for them. Otherwise a signed vote is only of the person themselves. */
  readonly delegates?: true;
  /** How wide a grant may be. By default none is allowed where there is a quorum. */
  readonly grants?: GrantMaximum | false;
  /** Shown on the card: why the policy may not be satisfied. */
  readonly warnings?: readonly string[];
};

/**
 * Who named the delegate, and how: the absent person with their passkey, or in a session of their own; an administrator; or the
 * directory of the application.
 */
export type Delegation = {
  readonly by: string | null;
  readonly how: 'passkey' | 'session' | 'administrator' | 'directory';
};

/** One recorded vote. */
export type Vote = {
  readonly by: string | null;
  /** The roles that the voter had then; those of the absent person for a vote on their behalf. */
  readonly roles?: readonly string[];
  /** The person whom the voter stands in for. */
  readonly onBehalfOf?: string;
  /** With `onBehalfOf`. */
  readonly delegation?: Delegation;
  /** Such as `{ type: 'approve' }`. */
  readonly decision: Json;
  /** The digest of the card that the voter saw. */
  readonly digest?: string;
  readonly channel?: string;
  readonly note?: string;
  readonly at?: number;
  readonly signature?: Json;
  /** How long the card was in front of the voter. */
  readonly seenForMs?: number;
};

/** The votes on a question so far, and the people with a part in it. */
export type Ballot = {
  readonly votes: readonly Vote[];
  /** Who started the run. */
  readonly requestedBy: string | null;
  /** These people count in every group, since the question was escalated to them. */
  readonly escalatedTo?: readonly Who[];
};

/** A group that is short of so many votes. */
export type Missing = { readonly of: Who; readonly count: number };

export type Tally =
  /** The decision of this vote is taken. */
  | { readonly status: 'settled'; readonly vote: Vote }
  | { readonly status: 'waiting'; readonly missing: readonly Missing[] };

const ANYONE: Who = {};

/**
 * Counts the votes. `input` is what would run if the decision that was voted for last is taken. An edit voids the votes before
 * it, and the votes after it mean the edited input.
 */
export function tally(policy: Policy, ballot: Ballot, input: Json): Tally {
  const groups = groupsFor(policy, input);
  const standing = standingVotes(ballot.votes);
  const against = standing.filter((vote) => !isFor(vote));
  const needed = groups.reduce((sum, { count }) => sum + count, 0);
  const last = against.at(-1);
  if (last && (policy.veto !== 'majority' || against.length * 2 > needed)) return { status: 'settled', vote: last };
  const proposal = standing.findLast(isFor);
  const agreeing = proposal ? standing.filter((vote) => isSameDecision(vote, proposal)) : [];
  const counted = agreeing.filter((vote) => !isExcluded(policy, ballot, vote));
  const missing = missingFrom(groups, ballot, counted);
  return proposal && missing.length === 0 ? { status: 'settled', vote: proposal } : { status: 'waiting', missing };
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

/** Why this vote cannot be recorded; undefined if it can. */
export function voteProblem(policy: Policy, ballot: Ballot, vote: Vote): string | undefined {
  const { deciders, quorum = [] } = policy;
  const circles = [...(deciders ? [deciders] : []), ...quorum.map(({ of }) => of)];
  if (vote.by === null && (circles.length > 0 || policy.notRequester))
    return 'Its policy counts votes of people, and this vote has no person: pass `by`.';
  const all = [...circles, ...(ballot.escalatedTo ?? [])];
  if (circles.length > 0 && !all.some((who) => isAmong(who, vote)))
    return `${nameOf(vote)} is not among its deciders: ${all.flatMap(whoText).join(', ')}.`;
  if (vote.onBehalfOf !== undefined && !admitsDelegates(policy))
    return `Its policy asks for signatures of its deciders themselves, so ${vote.by} cannot decide for ${vote.onBehalfOf}.`;
  if (isFor(vote) && !isEdit(vote) && isExcluded(policy, ballot, vote))
    return `${nameOf(vote)} started the run or edited the input, and its policy asks for another person (notRequester).`;
  return policy.signed && !vote.signature ? 'Its policy asks for decisions that are signed with a passkey.' : undefined;
}

/** Whether a delegate may vote for an absent person. A delegate has their own passkey, never that of the person. */
export const admitsDelegates = ({ signed, delegates }: Policy): boolean => signed === undefined || delegates === true;

/** A person about to vote: with their own roles, or on behalf of an absent person with that person's roles. */
export type Voter = Pick<Vote, 'by' | 'roles' | 'onBehalfOf'>;

/** The rights of a person on an open question, by its policy: to vote at all, and to approve. Signatures are not checked here. */
export type VoteRights = { readonly mayVote: boolean; readonly mayApprove: boolean };

/** `voters`: the person alone, and for each one whom they stand in for. */
export function voteRights(policy: Policy, ballot: Ballot, voters: readonly Voter[]): VoteRights {
  const may = (type: string) =>
    voters.some((voter) => {
      const vote = { ...voter, decision: { type }, signature: true };
      return voteProblem(policy, ballot, vote) === undefined;
    });
  return { mayVote: may('reject'), mayApprove: may('approve') };
}

/** Whether the policy names people or roles as deciders. If not, the application chooses them. */
export const namesDeciders = ({ deciders, quorum = [] }: Policy): boolean =>
  deciders !== undefined || quorum.length > 0;

/** The groups that must agree on this input. A condition that cannot be checked counts as met. */
function groupsFor({ quorum, deciders = ANYONE }: Policy, input: Json): readonly Group[] {
  if (!quorum || quorum.length === 0) return [{ of: deciders, count: 1 }];
  const groups = quorum.filter(({ when }) => when === undefined || meets(when, input) !== false);
  return groups.length > 0 ? groups : [{ of: circleOf({ deciders, quorum }), count: 1 }];
}

/** All people and roles that can vote. */
function circleOf({ deciders, quorum }: Required<Pick<Policy, 'deciders' | 'quorum'>>): Who {
  const all = [deciders, ...quorum.map(({ of }) => of)].filter((who) => !isAnyone(who));
  return { people: all.flatMap(({ people = [] }) => people), roles: all.flatMap(({ roles = [] }) => roles) };
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
  return standing;
}

/** The voter, and the person whom they stand in for. */
function peopleOf({ by, onBehalfOf }: Vote): readonly string[] {
  return [...new Set([by, onBehalfOf])].filter((person) => typeof person === 'string');
}

const typeOf = ({ decision }: Vote): unknown => (isObject(decision) ? decision.type : undefined);

/** Rejections and cancellations are against; every other decision lets the call continue. */
export const isFor = (vote: Vote): boolean => typeOf(vote) !== 'reject' && typeOf(vote) !== 'cancel';

/** The vote changes the input. */
export const isEdit = ({ decision }: Vote): boolean =>
  isObject(decision) && (decision.edit !== undefined || decision.replaceInput !== undefined);

/** With `notRequester`: the voter, or the person whom they stand in for, has started the run or edited its input. */
function isExcluded({ notRequester }: Policy, { requestedBy, votes }: Ballot, vote: Vote): boolean {
  if (!notRequester) return false;
  const involved = new Set([requestedBy, ...votes.filter(isEdit).flatMap(peopleOf)]);
  return peopleOf(vote).some((person) => involved.has(person));
}

const isAnyone = (who: Who | undefined): boolean => who === undefined || (!who.people && !who.roles);

function isAmong(who: Who, { by, onBehalfOf, roles = [] }: Vote): boolean {
  if (isAnyone(who)) return true;
  const person = onBehalfOf ?? by;
  return (person !== null && who.people?.includes(person)) || roles.some((role) => who.roles?.includes(role));
}

/** Gives each vote to at most one group, so that as many places as possible are taken. */
function missingFrom(groups: readonly Group[], ballot: Ballot, votes: readonly Vote[]): readonly Missing[] {
  const places = groups.flatMap((group) => Array.from({ length: group.count }, () => group));
  const { escalatedTo = [] } = ballot;
  const fits = (vote: Vote, { of }: Group) => [of, ...escalatedTo].some((who) => isAmong(who, vote));
  const taken = matched(places, votes, fits);
  return groups.flatMap((group) => {
    const count = places.filter((place, index) => place === group && !taken.has(index)).length;
    return count > 0 ? [{ of: group.of, count }] : [];
  });
}

/** The indexes of the places that can be taken at once (Kuhn's algorithm). */
function matched<Place, Item>(
  places: readonly Place[],
  items: readonly Item[],
  fits: (item: Item, place: Place) => boolean,
): ReadonlySet<number> {
  const holder = new Map<number, Item>();
  const findPlace = (item: Item, seen: Set<number>): boolean =>
    places.some((place, index) => {
      if (seen.has(index) || !fits(item, place)) return false;
      seen.add(index);
      const current = holder.get(index);
      if (current !== undefined && !findPlace(current, seen)) return false;
      holder.set(index, item);
      return true;
    });
  for (const item of items) findPlace(item, new Set());
  return new Set(holder.keys());
}

/** `Anna for Ben`, or `Anna`. */
const nameOf = ({ by, onBehalfOf }: Vote): string =>
  onBehalfOf === undefined ? (by ?? 'Nobody') : `${by} for ${onBehalfOf}`;

/** For people: `anna`, `the role finance`. */
export function whoText(who: Who | undefined): readonly string[] {
  return [...(who?.people ?? []), ...(who?.roles ?? []).map((role) => `the role ${role}`)];
}

const FIELDS: readonly string[] = [
  'name',
  'deciders',
  'notRequester',
  'quorum',
  'veto',
  'signed',
  'delegates',
  'grants',
  'warnings',
];

/** More votes than this are a mistake. */
const MOST_VOTES = 100;

/** Explains why the policy is invalid or cannot be satisfied. `roles`: all existing roles, if the application lists them. */
export function policyProblem(policy: unknown, roles?: readonly string[]): string | undefined {
  const problem = shapeProblem(policy);
  if (problem !== undefined) return problem;
  const { deciders, quorum = [] } = policy as Policy;
  const circles = [
    ...(deciders ? [{ where: 'deciders', who: deciders }] : []),
    ...quorum.map(({ of }, index) => ({ where: `quorum[${index}].of`, who: of })),
  ];
  const empty = circles.find(({ who }) => whoText(who).length === 0);
  if (empty) return `\`${empty.where}\` names no people and no roles`;
  for (const { where, who } of circles) {
    const strange = roles && who.roles?.find((role) => !roles.includes(role));
    if (strange !== undefined) return `\`${where}\` names the role ${strange}, which does not exist`;
  }
  return tooFewPeople(quorum);
}

/** False if a later release wrote the policy: this one would miss some of its requirements. */
export function knowsPolicy(policy: unknown): boolean {
  return shapeProblem(policy) === undefined;
}

function shapeProblem(policy: unknown): string | undefined {
  if (!isObject(policy)) return 'it must be an object';
  const unknown = Object.keys(policy).filter((key) => !FIELDS.includes(key));
  if (unknown.length > 0) return `it has no ${unknown.join(', ')}; it has ${FIELDS.join(', ')}`;
  const { deciders, notRequester, quorum = [], veto, signed, delegates, grants } = policy as Policy;
  if (notRequester !== undefined && notRequester !== true) return '`notRequester` must be true, or left out';
  if (veto !== undefined && veto !== 'any' && veto !== 'majority') return '`veto` must be "any" or "majority"';
  if (signed !== undefined && signed !== 'passkey') return '`signed` must be "passkey"';
  if (delegates !== undefined && delegates !== true) return '`delegates` must be true, or left out';
  const grantsFault = grants === undefined ? undefined : maximumProblem(grants);
  if (grantsFault !== undefined) return `\`grants\`: ${grantsFault}`;
  if (!Array.isArray(quorum)) return '`quorum` must be a list of groups';
  const problem = deciders === undefined ? undefined : whoProblem('deciders', deciders);
  if (problem !== undefined) return problem;
  return quorum.map((group, index) => groupProblem(`quorum[${index}]`, group)).find((found) => found !== undefined);
}

function whoProblem(where: string, who: unknown): string | undefined {
  if (!isObject(who)) return `\`${where}\` must be an object with \`people\` or \`roles\``;
  const { people, roles, ...rest } = who;
  const odd = Object.keys(rest);
  if (odd.length > 0) return `\`${where}\` has no ${odd.join(', ')}; it has people and roles`;
  for (const [field, list] of Object.entries({ people, roles }))
    if (list !== undefined && !isNames(list)) return `\`${where}.${field}\` must be a list of names`;
  return undefined;
}

const isNames = (list: unknown): boolean =>
  Array.isArray(list) && list.every((name) => typeof name === 'string' && name !== '');

function groupProblem(where: string, group: unknown): string | undefined {
  if (!isObject(group)) return `\`${where}\` must be an object such as { of: { roles: ["finance"] }, count: 2 }`;
  const { of, count, when, ...rest } = group;
  const odd = Object.keys(rest);
  if (odd.length > 0) return `\`${where}\` has no ${odd.join(', ')}; it has of, count and when`;
  if (!Number.isInteger(count) || (count as number) < 1 || (count as number) > MOST_VOTES)
    return `\`${where}.count\` must be a whole number from 1 to ${MOST_VOTES}`;
  if (when !== undefined && !Array.isArray(when)) return `\`${where}.when\` must be a list of conditions`;
  const problem = (when as readonly unknown[] | undefined)?.map(conditionProblem).find((found) => found !== undefined);
  return problem === undefined ? whoProblem(`${where}.of`, of) : `\`${where}.when\`: ${problem}`;
}

/** Groups that name people only: each person counts once, so there must be enough different ones. */
function tooFewPeople(groups: readonly Group[]): string | undefined {
  const named = groups.filter(({ of, when }) => when === undefined && of.people && !of.roles?.length);
  const people = [...new Set(named.flatMap(({ of }) => of.people ?? []))];
  const places = named.flatMap((group) => Array.from({ length: group.count }, () => group));
  const taken = matched(places, people, (person, { of }) => of.people?.includes(person) === true);
  if (taken.size === places.length) return undefined;
  return `it needs ${places.length} votes of ${people.join(', ')}, and each of them counts once, so at most ${taken.size} can be given`;
}
