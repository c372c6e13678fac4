// Judges a call of the past again, from its record: what would become of it under other rules, policies and grants.

import { sameJson } from '../json.ts';
import { type Grant, type GrantEvent, whyNotCovered } from './grants/grant.ts';
import { type Offer, offered } from './grants/grant-offer.ts';
import { type CallAsked, type CallRule, mayRun, withDeciders } from './may-run.ts';
import { ANYONE, EVERYTHING, type Policies, type Policy, type Who } from './policy.ts';
import { goesByOrigin, ruleSays } from './rule.ts';
import { tally } from './tally.ts';

/** A recorded call: what its own sources said, and what became of it. */
export type PastCall = CallAsked & {
  readonly startedBy: string | null;
  readonly requesters: readonly string[];
  /** The record does not say its labels, risk and reversibility. */
  readonly isOfUnknownKind?: boolean;
  /** The record does not say where its values came from, and could have. */
  readonly isOfUnknownOrigin?: boolean;
  /** Why it cannot be judged again. */
  readonly unknown?: string;
  readonly was: Was;
};

type Was =
  | { readonly then: 'run' | 'deny' }
  | { readonly then: 'ask'; readonly policies: Policies }
  /** `grant`: undefined if its record cannot be read. */
  | { readonly then: 'grant'; readonly policies: Policies; readonly grant: Grant | undefined };

/** A rule as data. `isCode`: a function names the deciders of its policy. */
export type PastRule = CallRule & { readonly isCode?: true };

/** What calls are judged by. */
export type PastRules = {
  readonly rules: readonly PastRule[];
  /** The policies that tools name, as data without the deciders that a function names. */
  readonly named: ReadonlyMap<string, { readonly policy: Policy; readonly isCode?: true }>;
};

export type JudgedAgain =
  | { readonly then: 'run' | 'deny' }
  /** `offer`: the place of the offered grant that covers it, and its events with this use. */
  | { readonly then: 'grant'; readonly offer?: { readonly place: number; readonly events: readonly GrantEvent[] } }
  | { readonly then: 'ask'; readonly policies: Policies }
  | { readonly then: 'unknown'; readonly why: string };

/**
 * `second`: it asks more people than it did, `others`: it asks other people, `unknown`: the record does not say enough. Undefined if
 * nothing changes for the call.
 */
export type Change = 'runs' | 'asks' | 'second' | 'others' | 'denied' | 'unknown';

/** `offers`: grants that nobody has given, which take the calls that they cover. */
export function judgeAgain(call: PastCall, { rules, named }: PastRules, offers: readonly Offer[] = []): JudgedAgain {
  const { was } = call;
  if (call.unknown !== undefined) return { then: 'unknown', why: call.unknown };
  const before = 'policies' in was ? was.policies : ANYONE;
  if (call.isOfUnknownKind && rules.some((rule) => goesByKind(rule) && says({ ...rule, ...NO_KIND }, call)))
    return {
      then: 'unknown',
      why: 'A rule goes by a label, the risk or the reversibility, and neither the record nor a tool here says it.',
    };
  if (call.isOfUnknownOrigin && rules.some((rule) => goesByOrigin(rule) && says(rule, call)))
    return { then: 'unknown', why: 'A rule goes by where a value came from, and the record does not say it.' };
  const standard = standardIn(before);
  const own = (call.policies ?? [])
    .map((policy) => withoutStandard(policy))
    .map((policy) => asNow(policy, named, before));
  const recorded = rules.map((rule) => (rule.isCode ? asRecorded(rule, before) : rule));
  const sources = {
    ...(call.policies && { policies: own }),
    ...(call.added && { added: asNow(call.added, named, before) }),
  };
  const now = mayRun({ ...call, ...sources }, recorded);
  if (now.then !== 'ask') return { then: now.then };
  const policies = standard ? withDeciders(now.policies, standard) : now.policies;
  if (was.then === 'grant' && !was.grant)
    return { then: 'unknown', why: 'The grant that let the call run cannot be read.' };
  const asked = { ...call, agent: call.agent ?? '', policies, key: '', fitsSchema: true };
  if (was.then === 'grant' && was.grant && whyNotCovered(was.grant, asked) === undefined) return { then: 'grant' };
  for (const [place, offer] of offers.entries()) {
    const events = offered(offer, call, policies);
    if (events) return { then: 'grant', offer: { place, events } };
  }
  const isOpen = was.then === 'ask' && recorded.some((rule) => rule.isCode && says(rule, call) === 'ask');
  if (isOpen)
    return { then: 'unknown', why: 'A function names the people who decide, and the record does not say its answer.' };
  return { then: 'ask', policies };
}

/** What is different for the call. */
export function changeOf({ was, input, requesters }: PastCall, now: JudgedAgain): Change | undefined {
  if (now.then === 'unknown') return 'unknown';
  if (now.then === 'deny') return was.then === 'deny' ? undefined : 'denied';
  if (now.then !== 'ask') return was.then === 'run' || was.then === 'grant' ? undefined : 'runs';
  if (was.then !== 'ask') return 'asks';
  if (sameDeciders(was.policies, now.policies)) return undefined;
  const needed = (policies: Policies): number => {
    const empty = tally(policies, { votes: [], requesters }, input);
    return empty.status === 'waiting' ? empty.missing.reduce((sum, { count }) => sum + count, 0) : 0;
  };
  return needed(now.policies) > needed(was.policies) ? 'second' : 'others';
}

const goesByKind = ({ label, risk, reversibility }: PastRule): boolean =>
  [label, risk, reversibility].some((kind) => kind !== undefined);

const NO_KIND = { label: undefined, risk: undefined, reversibility: undefined };

type LooseRule = { readonly [Field in keyof PastRule]?: PastRule[Field] | undefined };

const says = (rule: LooseRule, call: PastCall) => ruleSays(rule as PastRule, rule.then ?? 'ask', call);

/** Where no policy named deciders, the server did: they are no source of their own. */
function standardIn(policies: Policies): Who | undefined {
  return policies.find(({ deciders }) => deciders?.roles?.includes(EVERYTHING))?.deciders;
}

function withoutStandard({ deciders, ...policy }: Policy): Policy {
  return deciders && !deciders.roles?.includes(EVERYTHING) ? { deciders, ...policy } : policy;
}

/** The policy that its name stands for now. Deciders that a function names, and a deadline that may approve, stay as recorded. */
function asNow(recorded: Policy, named: PastRules['named'], before: Policies): Policy {
  const now = recorded.name === undefined ? undefined : named.get(recorded.name);
  if (!now) return recorded;
  const { deciders, onExpiry } = recorded;
  const kept = { ...(onExpiry && { onExpiry }), ...(now.isCode && deciders && { deciders }) };
  const found = { ...now.policy, ...kept };
  // A quorum that is new beside such a deadline ends it.
  return before.some((policy) => policy.onExpiry) && found.quorum ? withoutDeadline(found) : found;
}

function withoutDeadline({ onExpiry: _ends, ...policy }: Policy): Policy {
  return policy;
}

/** The policy of a rule with the deciders that its function named then; they are unknown if the policy has no name. */
function asRecorded(rule: PastRule, before: Policies): PastRule {
  const name = rule.policy?.name;
  const then = name === undefined ? undefined : before.find((policy) => policy.name === name);
  if (!then?.deciders) return rule;
  const { isCode: _known, ...known } = rule;
  return { ...known, policy: { ...rule.policy, deciders: then.deciders } };
}

/** The same requirements, in any order. Names, warnings, limits for grants and times to recall change nobody who decides. */
function sameDeciders(one: Policies, other: Policies): boolean {
  const [a, b] = [required(one), required(other)];
  const isIn = (policy: Policy, all: readonly Policy[]): boolean => all.some((known) => sameJson(known, policy));
  return a.every((policy) => isIn(policy, b)) && b.every((policy) => isIn(policy, a));
}

function required(policies: Policies): readonly Policy[] {
  const all = policies.map(
    ({ name: _name, warnings: _warnings, grants: _grants, recallFor: _recallFor, ...policy }): Policy => policy,
  );
  const kept = all.filter((policy) => Object.keys(policy).length > 0);
  return kept.length > 0 ? kept : ANYONE;
}
