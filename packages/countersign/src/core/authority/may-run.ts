// May this call run? Sources join: each may add a condition, and none removes that of another.
import { type GrantState, mayUse } from './grants/grant.ts';
import { ANYONE, namesDeciders, type Policies, type Policy, type Who } from './policy.ts';
import { type CallFacts, type RuleMatch, ruleSays, type Then } from './rule.ts';

/** A rule with the policy that it has for this call, as data. */
export type CallRule = RuleMatch & { readonly then?: Then; readonly policy?: Policy; readonly reason?: string };

/** A call, and what its own tool says. `undecided`: the tool says nothing, so the gate asks unless a rule allows the call. */
export type CallAsked = CallFacts & {
  readonly own: Exclude<Then, 'observe'> | 'undecided';
  /** The policies that the tool names: one, unless they come from a record. */
  readonly policies?: readonly Policy[];
  /** What the application adds for this request. */
  readonly added?: Policy;
};

/** What a call's own sources said about it: recorded where a rule had a say, so that other rules can judge the call again. */
export type CallSays = Omit<CallAsked, 'tool' | 'agent' | 'input'>;

export type MayRun =
  /**
   * `grant`: its id, if a grant lets the call run. `rule`: the first one that allows the call, if its tool leaves that to rules.
   * `observed`: the policies of the request that a rule would have made.
   */
  | { readonly then: 'run'; readonly grant?: string; readonly rule?: CallRule; readonly observed?: Policies }
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
  const { tool, input, origins, agent, own, policies: named = ANYONE, added } = call;
  const allowing = own === 'undecided' ? said.find(({ then }) => then === 'allow') : undefined;
  const isAllowed = own === 'allow' || allowing !== undefined;
  const join = (sources: readonly Policy[], rules: typeof said) =>
    joined([...sources, ...rules.map(({ rule }) => rule.policy ?? {}), ...(added ? [added] : [])]);
  if (isAllowed && asking.length === 0) {
    const observing = said.filter(({ then }) => then === 'observe');
    const by = allowing && { rule: allowing.rule };
    return { then: 'run', ...by, ...(observing.length > 0 && { observed: join([], observing) }) };
  }
  const policies = join(isAllowed ? [] : named, asking);
  const { grants, key, requesters, startedBy, now } = uses;
  const asks = {
    key,
    tool,
    input,
    origins,
    agent: agent ?? '',
    policies,
    requesters,
    startedBy,
    fitsSchema: true,
    now,
  };
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
