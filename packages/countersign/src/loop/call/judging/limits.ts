// The limits of rules: which of them a call is under, and which have no room for it.
import { fieldText } from '../../../core/authority/condition.ts';
import type { Limit } from '../../../core/authority/grants/limit.ts';
import type { Policies, Policy } from '../../../core/authority/policy.ts';
import { type CallFacts, matchOf, ruleSays, type Then } from '../../../core/authority/rule.ts';
import { sameJson } from '../../../core/json.ts';
import type { Driver } from '../../run.ts';
import type { LimitedCall, NoRoom } from '../../sink.ts';
import type { Rule, RuleLimit, ToolDefinition } from '../../tool/definition.ts';
import { spanOf } from '../../tool/duration.ts';

/** A rule as it judges a call that its limit has no room for. */
export type PlainRule = Omit<Rule, 'then' | 'limit'> & { readonly then?: Then };

/** A rule with a limit that freezes asks, wherever nothing can be frozen. */
export const thenOf = ({ then = 'ask' }: Rule): Then => (then === 'freeze' ? 'ask' : then);

/** `why`: its limit has no room. `frozen`: so the limit has frozen the call. */
export type AppliedRule = PlainRule & Partial<NoRoom>;

/** The rules with limits that the call of a tool may be under. */
export const limitRules = ({ policies }: Driver, tool: ToolDefinition): readonly Rule[] =>
  [...policies.rules, ...(tool.rules ?? [])].filter(({ limit }) => limit !== undefined);

type Counting = { readonly callId: string; readonly facts: CallFacts };

/** The rules that have a say about a call: one with a limit only if that has no room. */
export async function appliedNow(
  driver: Driver,
  rules: readonly Rule[],
  counting: Counting,
): Promise<readonly AppliedRule[]> {
  const applied: AppliedRule[] = [];
  for (const rule of rules) {
    const { limit, ...plain } = rule;
    const full = limit && rule.then !== 'freeze' ? await beyond(driver, rule, limit, counting, 'look') : undefined;
    if (!limit || full) applied.push({ ...plain, then: thenOf(rule), ...full });
  }
  return applied;
}

/**
 * Counts a call that is about to start. Returns the first rule whose limit has no room for it. `approved`: the policies by which
 * people have approved it.
 */
export async function countStart(
  driver: Driver,
  rules: readonly Rule[],
  { facts, callId, approved }: Counting & { readonly approved: Policies | undefined },
): Promise<(AppliedRule & NoRoom) | undefined> {
  for (const rule of rules) {
    const { limit, ...plain } = rule;
    if (!limit || ruleSays(rule, thenOf(rule), facts) === undefined) continue;
    const isEnough = approved && rule.then !== 'freeze' && thenOf(rule) === 'ask' && agreed(rule, limit, approved);
    const how = isEnough ? 'anyway' : 'if-room';
    const full = await beyond(driver, rule, limit, { callId, facts }, how);
    if (full) return { ...plain, then: thenOf(rule), ...full };
  }
  return undefined;
}

/** Any person may agree, unless the rule names people: they must have seen that the limit is reached. */
function agreed({ policy }: Rule, limit: RuleLimit, approved: Policies): boolean {
  if (policy === undefined) return true;
  const told = reachedText(limit);
  return approved.some(
    (known) => isPolicyOf(policy, known) && known.warnings?.some((warning) => warning.startsWith(told)),
  );
}

/** Another limit may have the same figures, and other people. Deciders that a function finds may differ by now. */
function isPolicyOf(policy: NonNullable<Rule['policy']>, known: Policy): boolean {
  if (typeof policy === 'string') return known.name === policy;
  const { deciders, quorum } = policy;
  if (known.name !== undefined || !sameJson(known.quorum ?? null, quorum ?? null)) return false;
  return deciders === undefined || typeof deciders === 'function' || sameJson(known.deciders ?? null, deciders);
}

const reachedText = (limit: RuleLimit): string => `The limit of ${limitText(limit)} is reached`;

/** What stops the call if the limit has no room for it. */
async function beyond(
  { grants, asker }: Driver,
  rule: Rule,
  limit: RuleLimit,
  { callId, facts }: Counting,
  how: 'if-room' | 'look' | 'anyway',
): Promise<NoRoom | undefined> {
  if (!grants && asker) return undefined; // A drill: it never runs.
  const why = reachedText(limit);
  // A call that is not stored cannot be counted.
  if (!grants) return how === 'anyway' ? undefined : { why: `${why}: it counts calls of stored runs only.` };
  const { each, per, ...counts } = limit;
  const { tool, agent, input } = facts;
  const person = asker?.startedBy ?? null;
  const of = each && { tool, agent, person }[each];
  const span = spanOf(per)?.ms ?? 0;
  const name = [matchOf(rule), limit.sum ?? null, span, each ?? null, of ?? null];
  const only = each === 'person' && person !== null ? { people: [person] } : {};
  const within = each === 'agent' && agent !== null ? { agents: [agent] } : {};
  const reason = rule.reason ?? `${why}.`;
  const call: LimitedCall = {
    ...{ callId, input, name: JSON.parse(JSON.stringify(name)) },
    limit: { ...counts, per: span } as Limit,
    ...(rule.then === 'freeze' && { freezes: { tools: [tool], ...only, ...within, reason } }),
  };
  const full = await grants.count(call, how);
  return full && { ...full, why: `${why}: ${full.why}.` };
}

/** Such as `20 calls per 1h`. */
function limitText({ calls, sum, most, per, each }: RuleLimit): string {
  const texts = [
    ...(calls === undefined ? [] : [`${calls} ${calls === 1 ? 'call' : 'calls'}`]),
    ...(sum === undefined ? [] : [`${fieldText(sum)} ${most}`]),
  ];
  const span = typeof per === 'number' ? `${per / 1_000}s` : per;
  return `${texts.join(' and ')} per ${span}${each === undefined ? '' : ` for each ${each}`}`;
}
