// The rules of the operator, as the application gives them, and what they and policies say about tools.
import { type Condition, fieldNames, fieldText, unknownField } from '../../core/authority/condition.ts';
import { authoritySchemas, shapeProblem } from '../../core/authority/schemas.ts';
import { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { PolicyConfig, Rule, ToolDefinition } from './definition.ts';
import { spanOf } from './duration.ts';
import { checkPolicy, type Policies, refuseUnknownPolicy } from './policies.ts';

export function checkRules(rules: unknown, roles: readonly string[] | undefined): void {
  if (!Array.isArray(rules)) throw new UsageError('invalid-options', {}, '`rules` must be an array of rules.');
  for (const [index, rule] of rules.entries()) {
    const problem = shapeProblem(authoritySchemas().RuleSchema, rule) ?? contradiction(rule);
    if (problem !== undefined)
      throw new UsageError('invalid-options', { rule: index }, `Invalid rule \`rules[${index}]\`: ${problem}.`);
    if (isObject(rule.policy)) checkPolicy(undefined, rule.policy, roles);
  }
}

function contradiction({ policy, then = 'ask', limit }: Rule): string | undefined {
  if (limit && (then === 'allow' || then === 'observe'))
    return `it has a limit, and \`then\` says what happens beyond it: \`ask\`, \`deny\` or \`freeze\`, not \`${then}\``;
  if (limit && !((spanOf(limit.per)?.ms ?? 0) > 0)) return '`limit.per` must be a duration, such as "1h"';
  if (!limit && then === 'freeze') return 'only a rule with a `limit` freezes. To freeze calls now, use `ai.freeze`';
  const hasPolicy = policy !== undefined && then !== 'ask' && then !== 'observe';
  return hasPolicy ? 'it has a policy and does not ask: leave out one of them' : undefined;
}

/** Throws if a tool, a tool of its sub-agents, or a rule names a policy that is not defined. */
export function refuseUnknownPolicies(tools: ReadonlyMap<string, ToolDefinition>, { named, rules }: Policies): void {
  for (const { tool, policy } of rules) refuseUnknownPolicy(policy, named, `A rule for ${tool ?? 'every tool'}`);
  for (const { name, needsApproval, innerTools } of tools.values()) {
    if (typeof needsApproval === 'object') refuseUnknownPolicy(needsApproval.policy, named, `The tool ${name}`);
    if (innerTools) refuseUnknownPolicies(innerTools(), { named, rules });
  }
}

/**
 * Throws if the policy of the tool, or a rule that names the tool, has a condition on a field that its input cannot have. A schema
 * that does not say which fields it returns accepts every condition.
 */
export function checkConditionFields(
  { name, needsApproval, input }: Pick<ToolDefinition, 'name' | 'needsApproval' | 'input'>,
  { rules, named }: Pick<Policies, 'rules' | 'named'>,
): void {
  const own = typeof needsApproval === 'object' ? needsApproval.policy : undefined;
  const sources = [
    ...policyConditions(own, named, `The policy of the tool ${name}`),
    ...rules.filter(({ tool = [] }) => [tool].flat().includes(name)).flatMap((rule) => ruleConditions(rule, named)),
  ];
  if (sources.length === 0) return;
  const schema = input.returns?.();
  for (const { who, fields } of schema === undefined ? [] : sources) {
    const field = unknownField(schema, fields);
    if (field === undefined) continue;
    const known = fieldNames(schema).join(', ') || 'none';
    const message = `${who} has a condition on ${fieldText(field)}, which the input of ${name} does not have. Its fields are: ${known}.`;
    throw new UsageError('invalid-options', { tool: name, field }, message);
  }
}

type Source = { readonly who: string; readonly fields: readonly Condition['field'][] };

function ruleConditions({ tool, where = [], limit, policy }: Rule, named: Policies['named']): readonly Source[] {
  const who = `A rule for ${[tool ?? []].flat().join(', ')}`;
  const fields = [...where.map(({ field }) => field), ...(limit?.sum === undefined ? [] : [limit.sum])];
  return [...(fields.length > 0 ? [{ who, fields }] : []), ...policyConditions(policy, named, `The policy of ${who}`)];
}

function policyConditions(policy: unknown, named: Policies['named'], who: string): readonly Source[] {
  const config = typeof policy === 'string' ? named.get(policy) : policy;
  if (!isObject(config)) return [];
  const { quorum = [], grants } = config as PolicyConfig;
  const fields = [
    ...quorum.flatMap(({ when = [] }) => when.map(({ field }) => field)),
    ...(grants && grants.field !== undefined ? [grants.field] : []),
  ];
  if (fields.length === 0) return [];
  return [{ who: typeof policy === 'string' ? `The policy ${policy}` : who, fields }];
}
