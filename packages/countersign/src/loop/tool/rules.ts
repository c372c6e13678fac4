// The rules of the operator, as the application gives them.
import { conditionProblem } from '../../core/authority/condition.ts';
import { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { aString, checkOptions, type OptionKind, type OptionTable, oneOf } from '../../core/options.ts';
import { ASK_OPTIONS } from './ask-options.ts';
import type { Rule, ToolDefinition } from './definition.ts';
import { checkPolicy, type Policies, refuseUnknownPolicy } from './policies.ts';

const never = (kind: OptionKind): OptionKind => ({ ...kind, neverUndefined: true });

/** An undefined condition may be one that was not found: left out, the rule would be for other tools than intended. */
const RULE_OPTIONS: OptionTable<Rule> = {
  tool: never({
    is: 'the name of a tool, or a list of names',
    fits: (value) => [value].flat().every((name) => typeof name === 'string' && name !== ''),
  }),
  agent: never(aString),
  label: never(aString),
  risk: never(ASK_OPTIONS.risk),
  reversibility: never(ASK_OPTIONS.reversibility),
  where: never({
    is: 'a list of conditions',
    fits: (value) => Array.isArray(value) && value.every((condition) => conditionProblem(condition) === undefined),
  }),
  then: never(oneOf('allow', 'ask', 'deny')),
  policy: never({
    is: 'the name of a policy, or a policy',
    fits: (value) => typeof value === 'string' || isObject(value),
  }),
  reason: never(aString),
};

export function checkRules(rules: unknown, roles: readonly string[] | undefined): void {
  if (!Array.isArray(rules)) throw new UsageError('invalid-options', {}, '`rules` must be an array of rules.');
  for (const [index, rule] of rules.entries()) {
    checkOptions(`\`rules[${index}]\``, rule, RULE_OPTIONS);
    if (rule.policy !== undefined && rule.then !== undefined && rule.then !== 'ask')
      throw new UsageError(
        'invalid-options',
        {},
        `\`rules[${index}]\` has a policy and does not ask: leave out one of them.`,
      );
    if (isObject(rule.policy)) checkPolicy(undefined, rule.policy, roles);
  }
}

/** Throws if a tool, a tool of its sub-agents, or a rule names a policy that is not defined. */
export function refuseUnknownPolicies(tools: ReadonlyMap<string, ToolDefinition>, { named, rules }: Policies): void {
  for (const { tool, policy } of rules) refuseUnknownPolicy(policy, named, `A rule for ${tool ?? 'every tool'}`);
  for (const { name, needsApproval, innerTools } of tools.values()) {
    if (typeof needsApproval === 'object') refuseUnknownPolicy(needsApproval.policy, named, `The tool ${name}`);
    if (innerTools) refuseUnknownPolicies(innerTools(), { named, rules });
  }
}
