// The policies and rules that are defined on an instance.
import { ruleSays } from '../../core/authority/rule.ts';
import { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { PolicyConfig, Rule, ToolDefinition } from './definition.ts';
import { checkPolicy, type Policies, refuseUnknownPolicy } from './policies.ts';
import { checkConditionFields, checkRules } from './rules.ts';

/** Rules instead of those of an instance, and policies beside or instead of its own. */
export type OtherRules = {
  readonly rules?: readonly Rule[];
  readonly policies?: Readonly<Record<string, PolicyConfig>>;
};

export class PolicyBook {
  readonly named = new Map<string, PolicyConfig>();
  readonly rules: Rule[] = [];
  /** Who decides a request whose policies name nobody: anyone, unless a server says otherwise. */
  defaultDeciders: Policies['defaultDeciders'];
  readonly #roles: readonly string[] | undefined;
  readonly #tools = new Map<string, ToolDefinition>();
  #isUsed = false;

  constructor(rules: readonly Rule[], roles: readonly string[] | undefined) {
    checkRules(rules, roles);
    this.#roles = roles;
    this.#isUsed = rules.length > 0;
    this.rules.push(...rules);
  }

  /** Whether a policy was defined, by its name or with a tool: then some requests may be for people who did not start them. */
  get isUsed(): boolean {
    return this.#isUsed;
  }

  define(name: string, config: PolicyConfig): void {
    checkPolicy(name, config, this.#roles);
    if (this.named.has(name))
      throw new UsageError('invalid-options', { policy: name }, `The policy ${name} is defined already.`);
    this.#checkFields({ rules: this.rules, named: new Map(this.named).set(name, config) });
    this.named.set(name, config);
    this.#isUsed = true;
  }

  /** Adds rules behind those that exist. */
  apply(rules: readonly Rule[], agents: ReadonlyMap<string, unknown>): void {
    checkRules(rules, this.#roles);
    for (const { tool: name, policy } of rules) {
      refuseUnknownPolicy(policy, this.named, 'A rule');
      for (const one of [name ?? []].flat()) if (agents.has(one)) throw ruleForAgent(one);
    }
    this.#checkFields({ rules, named: this.named });
    this.rules.push(...rules);
  }

  /** The same tools under these rules, and under these policies beside those that are defined. Throws if they cannot be used. */
  with({ rules = this.rules, policies = {} }: OtherRules): PolicyBook {
    const other = new PolicyBook([], this.#roles);
    other.checkTools(this.#tools.values());
    for (const [name, config] of Object.entries({ ...Object.fromEntries(this.named), ...policies }))
      other.define(name, config);
    other.apply(rules, new Map());
    return other;
  }

  /** Undefined if neither the instance nor one of its agents has the tool. */
  toolNamed(name: string): ToolDefinition | undefined {
    return this.#tools.get(name);
  }

  /** Whether rules make calls of this tool ask, as far as what the tool declares says. */
  asksByRule({ name, asks, body, innerTools }: ToolDefinition): 'always' | 'sometimes' | 'never' {
    const { labels, risk, reversibility } = asks;
    const call = { tool: name, agent: null, input: null, labels, risk, reversibility };
    const asking = this.rules.filter(({ agent: _any, ...rule }) => {
      const says =
        body && !innerTools ? ruleSays(rule, rule.then === 'freeze' ? 'ask' : (rule.then ?? 'ask'), call) : undefined;
      return says === 'ask' || says === 'deny';
    });
    if (asking.length === 0) return 'never';
    return asking.some(({ where, agent, limit }) => !where && agent === undefined && !limit) ? 'always' : 'sometimes';
  }

  /** A name of a policy is looked up when a run starts: a `countersign.config.ts` may define it after the tools. */
  checkTool(tool: ToolDefinition): void {
    const { policy } = typeof tool.needsApproval === 'object' ? tool.needsApproval : {};
    this.#isUsed ||= policy !== undefined;
    if (isObject(policy)) checkPolicy(undefined, policy, this.#roles);
    this.checkTools([tool]);
  }

  /** Throws if a policy or a rule has a condition on a field that one of these tools does not have, now or later. */
  checkTools(tools: Iterable<ToolDefinition>): void {
    for (const tool of tools) {
      checkConditionFields(tool, this);
      this.#tools.set(tool.name, tool);
    }
  }

  checkAgent(name: string): void {
    if (this.rules.some(({ tool = [] }) => [tool].flat().includes(name))) throw ruleForAgent(name);
  }

  #checkFields(policies: Pick<Policies, 'rules' | 'named'>): void {
    for (const tool of this.#tools.values()) checkConditionFields(tool, policies);
  }
}

/** An agent asks in its own conversation, so such a rule would have no effect. */
function ruleForAgent(name: string): UsageError {
  const message = `A rule names ${name}, which is an agent. Name the tools of that agent instead.`;
  return new UsageError('invalid-options', { agent: name }, message);
}
