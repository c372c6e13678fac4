// May this call run? Sources join: each may add a condition, and none removes that of another.
import { type GrantState, mayUse } from './grant.ts';
import { ANYONE, namesDeciders, type Policies, type Policy, type Who } from './policy.ts';
import { type CallFacts, type RuleMatch, ruleSays, type Then } from './rule.ts';

/** A rule with the policy that it has for this call, as data. */
export type CallRule = RuleMatch & { readonly then?: Then; readonly policy?: Policy; readonly reason?: string };

/** A call, and what its own tool says. `undecided`: the tool says nothing, so the gate asks unless a rule allows the call. */
export type CallAsked = CallFacts & {
  readonly own: Then | 'undecided';
  /** The policy that the tool names. */
  readonly policy?: Policy;
  /** What the application adds for this request. */
  readonly added?: Policy;
};

export type MayRun =
  /** `grant`: its id, if a grant lets the call run. `rule`: the first one that allows the call, if its tool leaves that to rules. */
  | { readonly then: 'run'; readonly grant?: string; readonly rule?: CallRule }
  | { readonly then: 'ask'; readonly policies: Policies }
  | { readonly then: 'deny'; readonly why: string };

/** `deny` beats `ask`, `ask` beats `allow`. A grant lets the call run if its decisions would settle the request. */
export function mayRun(
  call: CallAsked,
  rules: readonly CallRule[],
  uses: { readonly grants: readonly GrantState[]; readonly key: string; readonly requesters: readonly string[] } & {
    readonly startedBy: string | null;
    readonly now: number;
  } = NO_GRANTS,
): MayRun {
  const said = rules.map((rule) => ({ rule, then: ruleSays(rule, rule.then ?? 'ask', call) }));
  const denied = said.find(({ then }) => then === 'deny');
  if (denied || call.own === 'deny') return { then: 'deny', why: denied?.rule.reason ?? 'A rule denies it.' };
  const asking = said.filter(({ then }) => then === 'ask');
  const allowing = call.own === 'undecided' ? said.find(({ then }) => then === 'allow') : undefined;
  const isAllowed = call.own === 'allow' || allowing !== undefined;
  if (isAllowed && asking.length === 0) return allowing ? { then: 'run', rule: allowing.rule } : { then: 'run' };
  const own = isAllowed ? [] : [call.policy ?? {}];
  const policies = joined([
    ...own,
    ...asking.map(({ rule }) => rule.policy ?? {}),
    ...(call.added ? [call.added] : []),
  ]);
  const { tool, input, agent } = call;
  const { grants, key, requesters, startedBy, now } = uses;
  const asks = { key, tool, input, agent: agent ?? '', policies, requesters, startedBy, fitsSchema: true, now };
  const grant = grants.find((state) => mayUse(state, asks).ok);
  return grant ? { then: 'run', grant: grant.grant.id } : { then: 'ask', policies };
}

const NO_GRANTS = { grants: [], key: '', requesters: [], startedBy: null, now: 0 };

/** The policies of a request: each one once. One that says nothing still counts against a deadline that would approve. */
export function joined(all: readonly Policy[]): Policies {
  const [only] = all;
  if (only && all.length === 1) return Object.keys(only).length > 0 ? [only] : ANYONE;
  const isTimed = all.some(({ onExpiry }) => onExpiry !== undefined);
  const kept = all.filter((policy) => isTimed || Object.keys(policy).length > 0);
  const [first, ...rest] = new Map(kept.map((policy) => [JSON.stringify(policy), policy])).values();
  return first ? [first, ...rest] : ANYONE;
}

/** The same policies; if none of them names deciders, these people decide. */
export function withDeciders(policies: Policies, deciders: Who): Policies {
  if (policies.some(namesDeciders)) return policies;
  const [first, ...rest] = policies;
  return [{ ...first, deciders }, ...rest];
}
