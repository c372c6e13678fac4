// Policies: who must decide a request, and how many of them, as data that is recorded with it.
import type { Json } from '../json.ts';
import type { Condition } from './condition.ts';
import type { GrantMaximum } from './grants/grant-maximum.ts';

/** People by their ids, and by their roles. */
export type Who = { readonly people?: readonly string[]; readonly roles?: readonly string[] };

/** So many of these people must agree. With `when`, only for inputs that meet its conditions, or may meet them. */
export type Group = { readonly of: Who; readonly count: number; readonly when?: readonly Condition[] };

/** Who must decide a request. `{}`: one vote, of anyone. */
export type Policy = {
  readonly name?: string;
  /** These people can vote, and so can those in the groups. Without deciders and groups, anyone can. */
  readonly deciders?: Who;
  /** Four eyes: nobody who took part in the request, as its starter, author or editor, can approve it. */
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
  /** How long an approval lets the call start, in milliseconds. After that, the same people are asked again. */
  readonly validFor?: number;
  /** The deadline of the request may approve it. It counts only if every policy of the request says so. */
  readonly onExpiry?: 'approve';
  /** So many milliseconds an approved call waits before it starts, so that it can be recalled. */
  readonly recallFor?: number;
  /** Shown on the card: why the policy may not be satisfied. */
  readonly warnings?: readonly string[];
};

/** The policies of a request, one per source that asks. All of them must be satisfied. */
export type Policies = readonly [Policy, ...Policy[]];

/** One vote, of anyone. */
export const ANYONE: Policies = Object.freeze([Object.freeze({})] as const);

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
  /** The voter, or the person whom they stood in for, was removed before the request was settled. It counts no longer. */
  readonly withdrawn?: true;
};

/** People to whom a request was escalated. With `policy`, they count only for the policy at this place. */
export type Escalated = Who & { readonly policy?: number };

/** The votes on a request so far, and the people with a part in it. */
export type Ballot = {
  readonly votes: readonly Vote[];
  /** Who took part before it was asked: the starter of the run, the author of the message that led to the call, and editors. */
  readonly requesters: readonly string[];
  readonly escalatedTo?: readonly Escalated[];
};

/** The policy names people or roles as deciders. */
export const namesDeciders = ({ deciders, quorum = [] }: Policy): boolean =>
  deciders !== undefined || quorum.length > 0;

/** The policy says nothing: one vote of anyone satisfies it. */
export const isPlain = (policies: Policies): boolean =>
  policies === ANYONE || policies.every((policy) => Object.keys(policy).every((field) => SAYS_NOT_WHO.has(field)));

const SAYS_NOT_WHO: ReadonlySet<string> = new Set(['onExpiry', 'recallFor'] satisfies (keyof Policy)[]);

/** How long an approved call waits before it starts: the longest time counts. */
export const recallTime = (policies: Policies): number =>
  policies.reduce((longest, { recallFor = 0 }) => (recallFor > longest ? recallFor : longest), 0);

/** The same policies, with at least this time. */
export function withRecall(policies: Policies, recallFor = 0): Policies {
  if (recallTime(policies) >= recallFor) return policies;
  const [first, ...rest] = policies;
  return [{ ...first, recallFor }, ...rest];
}

/** The people and roles whom the policy names, in its deciders and its groups. */
export function circlesOf({ deciders, quorum = [] }: Policy): readonly Who[] {
  return [...(deciders ? [deciders] : []), ...quorum.map(({ of }) => of)];
}

/** True if one of its deadlines may approve a request with these policies. */
export const deadlineMayApprove = (policies: Policies): boolean =>
  policies.every(({ onExpiry, quorum = [], signed }) => onExpiry === 'approve' && quorum.length === 0 && !signed);

/** Whether a delegate may vote for an absent person. A delegate has their own passkey, never that of the person. */
export const admitsDelegates = ({ signed, delegates }: Policy): boolean => signed === undefined || delegates === true;

/** All policies of a request as one, for screens; null if anyone may decide. Votes are counted by each policy on its own. */
export function shownPolicy(recorded: Policies): Policy | null {
  const [only, ...others] = recorded.map(withoutDefault);
  if (!only || isPlain([only, ...others])) return null;
  const policies: Policies = [only, ...others];
  if (others.length === 0) return only;
  const names = policies.flatMap(({ name }) => name ?? []);
  const warnings = policies.flatMap(({ warnings: own = [] }) => own);
  const groups = joinedGroups(policies);
  return {
    ...(names.length > 0 && { name: names.join(' + ') }),
    ...(policies.some(({ notRequester }) => notRequester) && { notRequester: true }),
    ...(groups.length > 0 && { quorum: groups }),
    ...(policies.every(({ veto }) => veto === 'majority') && { veto: 'majority' }),
    ...(policies.some(({ signed }) => signed) && { signed: 'passkey' }),
    ...(policies.some((policy) => forbidsGrants(policy)) && { grants: false }),
    ...(warnings.length > 0 && { warnings }),
  };
}

/** The role of those who decide everything on a server that no policy reserves for others. */
export const EVERYTHING = 'server:everything';

/** That a server lets the requester decide goes without saying. */
function withoutDefault({ deciders, ...policy }: Policy): Policy {
  return deciders && !deciders.roles?.includes(EVERYTHING) ? { ...policy, deciders } : policy;
}

/** A vote counts in each policy, so the same people are named once, with the most votes that a policy asks of them. */
function joinedGroups(policies: Policies): readonly Group[] {
  const joined = new Map<string, Group>();
  for (const policy of policies) {
    const own = new Set<string>();
    for (const group of groupsOf(policy)) {
      let key = JSON.stringify({ ...group, count: 0 });
      // A policy that names them twice wants both.
      while (own.has(key)) key += '+';
      own.add(key);
      if (group.count > (joined.get(key)?.count ?? 0)) joined.set(key, group);
    }
  }
  return [...joined.values()];
}

function groupsOf({ quorum = [], deciders }: Policy): readonly Group[] {
  return quorum.length > 0 ? quorum : deciders ? [{ of: deciders, count: 1 }] : [];
}

/** A signature is made for one call, so no other call can borrow it; a quorum must say that it may. */
export const forbidsGrants = ({ signed, grants, quorum = [] }: Policy): boolean =>
  signed !== undefined || grants === false || (grants === undefined && quorum.length > 0);

/** No grant lets a call pass, not even one for exactly the input that its voters saw. */
export const forbidsPlans = ({ signed, grants }: Policy): boolean => signed !== undefined || grants === false;

/** For people: `anna`, `the role finance`. */
export function whoText(who: Who | undefined): readonly string[] {
  return [...(who?.people ?? []), ...(who?.roles ?? []).map((role) => `the role ${role}`)];
}

const isAnyone = (who: Who): boolean => !who.people && !who.roles;

/** The voter, or the person whom they stand in for, is one of these people, or has one of these roles. */
export function isAmong(who: Who, { by, onBehalfOf, roles = [] }: Pick<Vote, 'by' | 'onBehalfOf' | 'roles'>): boolean {
  if (isAnyone(who)) return true;
  const person = onBehalfOf ?? by;
  return (person !== null && who.people?.includes(person)) || roles.some((role) => who.roles?.includes(role));
}
