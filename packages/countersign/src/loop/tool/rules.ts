// The rules of the operator, as the application gives them.
import { authoritySchemas, shapeProblem } from '../../core/authority/schemas.ts';
import { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Rule, ToolDefinition } from './definition.ts';
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

function contradiction({ policy, then = 'ask' }: Rule): string | undefined {
  return policy !== undefined && then !== 'ask' ? 'it has a policy and does not ask: leave out one of them' : undefined;
}

/** Throws if a tool, a tool of its sub-agents, or a rule names a policy that is not defined. */
export function refuseUnknownPolicies(tools: ReadonlyMap<string, ToolDefinition>, { named, rules }: Policies): void {
  for (const { tool, policy } of rules) refuseUnknownPolicy(policy, named, `A rule for ${tool ?? 'every tool'}`);
  for (const { name, needsApproval, innerTools } of tools.values()) {
    if (typeof needsApproval === 'object') refuseUnknownPolicy(needsApproval.policy, named, `The tool ${name}`);
    if (innerTools) refuseUnknownPolicies(innerTools(), { named, rules });
  }
}
