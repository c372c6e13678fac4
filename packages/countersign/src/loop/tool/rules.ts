// Rules: which calls ask a person, and by which policy, chosen by tool, label, risk or reversibility.
import { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { aString, checkOptions, type OptionKind, type OptionTable } from '../../core/options.ts';
import { askGate } from './ask-gate.ts';
import { ASK_OPTIONS } from './ask-options.ts';
import type { Approval, ApprovalContext, Rule, ToolDefinition } from './definition.ts';
import { checkPolicy, type Policies, refuseUnknownPolicy } from './policies.ts';

const never = (kind: OptionKind): OptionKind => ({ ...kind, neverUndefined: true });

/** An undefined condition may be one that was not found: left out, the rule would be for other tools than intended. */
const RULE_OPTIONS: OptionTable<Rule> = {
  tool: never(aString),
  label: never(aString),
  risk: never(ASK_OPTIONS.risk),
  reversibility: never(ASK_OPTIONS.reversibility),
  policy: {
    is: 'true, the name of a policy, or a policy',
    fits: (value) => value === true || typeof value === 'string' || isObject(value),
    required: true,
  },
};

export function checkRules(rules: unknown, roles: readonly string[] | undefined): void {
  if (!Array.isArray(rules)) throw new UsageError('invalid-options', {}, '`rules` must be an array of rules.');
  for (const [index, rule] of rules.entries()) {
    checkOptions(`\`rules[${index}]\``, rule, RULE_OPTIONS);
    if (isObject(rule.policy)) checkPolicy(undefined, rule.policy, roles);
  }
}

/** The first rule for calls of this tool. `asked`: what its gate said about one call. Questions and agents have none. */
export function ruleFor(rules: readonly Rule[], tool: ToolDefinition, asked: object = {}): Rule | undefined {
  if (rules.length === 0 || !tool.body || tool.innerTools) return undefined;
  const { labels, risk, reversibility } = { ...tool.asks, ...asked };
  return rules.find(
    (rule) =>
      (rule.tool === undefined || rule.tool === tool.name) &&
      (rule.label === undefined || (Array.isArray(labels) && labels.includes(rule.label))) &&
      (rule.risk === undefined || rule.risk === risk) &&
      (rule.reversibility === undefined || rule.reversibility === reversibility),
  );
}

/** Throws if a tool, a tool of its sub-agents, or a rule for one of them names a policy that is not defined. */
export function refuseUnknownPolicies(tools: ReadonlyMap<string, ToolDefinition>, { named, rules }: Policies): void {
  for (const tool of tools.values()) {
    const { name, needsApproval, innerTools } = tool;
    if (typeof needsApproval === 'object') refuseUnknownPolicy(needsApproval.policy, named, `The tool ${name}`);
    refuseUnknownPolicy(ruleFor(rules, tool)?.policy, named, `A rule for ${name}`);
    if (innerTools) refuseUnknownPolicies(innerTools(), { named, rules });
  }
}

/** What the tool asks, or what a rule asks for it. A policy that the tool names comes before that of a rule. */
export async function askByRules(
  rules: readonly Rule[],
  tool: ToolDefinition,
  input: unknown,
  ctx: ApprovalContext,
): Promise<false | Approval | true> {
  const own = await askGate(tool, input, ctx);
  const options = typeof own === 'object' ? own : {};
  if ('policy' in options) return own;
  const rule = ruleFor(rules, tool, options);
  if (!rule) return own;
  return rule.policy === true ? own || true : { ...options, policy: rule.policy };
}
