// The rules of the MCP gateway and of the hook of coding agents: those of the engine, for tools that others define.
import { countersign, type Json, type Rule, type ToolDescription, UsageError, z } from 'countersign';
import { type CallFacts, isLike, mayRun, RuleSchema, ruleSays, shapeProblem, type Then } from 'countersign/store';
import { defined } from '../defined.ts';
import { jsonHash } from '../json-hash.ts';

/** What an MCP server says about a tool. Nothing in it is verified. */
export type McpTool = {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: { readonly [key: string]: unknown };
  readonly annotations?: { readonly [hint: string]: unknown };
  readonly execution?: { readonly taskSupport?: unknown };
};

/** The hints that a rule may ask for, with what they mean if the server leaves them out, as the protocol says. */
const HINTS = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };

type Hint = keyof typeof HINTS;
const hintNames = Object.keys(HINTS) as [Hint, ...Hint[]];

/** What the operator says about a tool: how requests show it and wait, and what rules go by. */
export type ToolFacts = Pick<ToolDescription, 'title' | 'risk' | 'reversibility' | 'labels' | 'expiresIn' | 'onExpiry'>;

/** A rule of the engine. With `annotations`, it is for tools that their server annotates so. */
export type McpRule = Omit<Rule, 'then' | 'limit'> & {
  readonly then?: Then;
  readonly annotations?: { readonly [hint in Hint]?: boolean };
};

/** Every rule that fits a call counts: `deny` beats `ask`, `ask` beats `allow`. */
export type McpRules = {
  readonly rules?: readonly McpRule[];
  /** For calls that no rule fits; `ask` by default. `observe` lets them run, and records whom it would have asked. */
  readonly otherwise?: Then;
  /** By the names of the tools, in which `*` stands for any characters. If several fit, the last one that says something counts. */
  readonly tools?: { readonly [name: string]: ToolFacts };
};

const ToolFactsSchema = z.strictObject({
  title: z.string().optional(),
  risk: RuleSchema.shape.risk,
  reversibility: RuleSchema.shape.reversibility,
  labels: z.array(z.string()).optional(),
  expiresIn: z.number().positive().optional(),
  onExpiry: z.enum(['reject', 'cancel']).optional(),
});

const ThenSchema = z.exactOptional(
  z.enum(['allow', 'ask', 'deny', 'observe'], { error: 'must be one of allow, ask, deny, observe' }),
);

const Rules = z.strictObject({
  otherwise: ThenSchema,
  tools: z.record(z.string(), ToolFactsSchema).optional(),
  rules: z
    .array(
      RuleSchema.extend({
        then: ThenSchema,
        // Calls that these rules allow have no record, so nothing could count them.
        limit: z.never({ error: 'works only in `countersign({ rules })`' }).optional(),
        annotations: z.partialRecord(z.enum(hintNames), z.boolean()).optional(),
        // It is recorded with the call, so it has no functions.
        policy: z.exactOptional(
          z.union([z.string(), z.record(z.string(), z.json())], {
            error: 'must be the name of a policy, or one that is data',
          }),
        ),
      }).refine(({ annotations, then }) => annotations === undefined || then !== 'allow', {
        error: 'allows by `annotations`, which the MCP server writes itself; name the tools instead',
      }),
    )
    .optional(),
});

/** The rules in a value from a file. A mistake in them would leave calls unprotected, so it is thrown. */
export function parseRules(value: unknown, file: string): McpRules {
  const problem = shapeProblem(Rules, value, 'the file') ?? policyProblem((value as McpRules).rules ?? []);
  if (problem === undefined) return value as McpRules;
  const message = `Invalid rules in ${file}: ${problem}. See the guide: Put a gate before an MCP server.`;
  throw new UsageError('invalid-options', {}, message);
}

/** Why the engine does not take the rules; undefined if it does. */
function policyProblem(rules: readonly McpRule[]): string | undefined {
  try {
    countersign({ rules: rules.map(({ annotations: _hints, ...rule }) => rule) });
    return undefined;
  } catch (error) {
    return (error as Error).message.replace(/\.$/, '');
  }
}

/** A call of a tool. `agent`: the name under which the gate records it. */
export type GivenCall = { readonly tool: McpTool; readonly input: unknown; readonly agent: string };

/** Whether the call may run. Without a rule that fits, a person is asked. `observed`: a rule would have asked, and only observes. */
export function judge(
  all: McpRules,
  { tool, input, agent }: GivenCall,
): { then: 'run'; observed?: unknown } | { then: 'ask' } | { then: 'deny'; why: string } {
  const facts = { ...factsOf(all, tool), agent, input: (input ?? {}) as Json };
  const applied = rulesFor(all, tool).filter((rule) => ruleSays(rule, rule.then, facts) !== undefined);
  const isUnruled = applied.every(({ then }) => then === 'observe');
  const { otherwise = 'ask' } = all;
  const own = !isUnruled ? 'undecided' : otherwise === 'observe' ? 'allow' : otherwise;
  const observing = isUnruled && otherwise === 'observe' ? [...applied, { then: 'observe' } as const] : applied;
  return mayRun(
    { ...facts, own },
    observing.map(({ policy: _named, ...rule }) => rule),
  );
}

/**
 * The rules for calls of this tool. What the server says about it is not verified: such a rule asks even where the tool is not
 * annotated so.
 */
export function rulesFor(all: McpRules, tool: McpTool): readonly (Rule & { readonly then: Then })[] {
  const { rules = [] } = all;
  const facts = { ...factsOf(all, tool), agent: null, input: {} };
  return rules.flatMap(({ annotations, agent, where, policy, reason, then = 'ask', ...kind }) => {
    const says = ruleSays(kind, then, facts);
    if (says === undefined || (annotations && says === 'allow')) return [];
    const sure = says === 'observe' || hasHints(tool, annotations) ? says : 'ask';
    return [defined({ agent, where, policy, then: sure, reason: sure === 'ask' ? undefined : reason })];
  });
}

function hasHints({ annotations: hints = {} }: McpTool, wanted: McpRule['annotations'] = {}): boolean {
  const has = (hint: Hint) => (typeof hints[hint] === 'boolean' ? hints[hint] : HINTS[hint]);
  return hintNames.every((hint) => wanted[hint] === undefined || has(hint) === wanted[hint]);
}

/** What the operator says about the tool, or else the server itself. */
function factsOf(all: McpRules, tool: McpTool): Omit<CallFacts, 'agent' | 'input'> {
  const { labels, risk, reversibility } = toolFacts(all, tool.name);
  const isDescribed = labels === undefined && risk === undefined && reversibility === undefined;
  return { tool: tool.name, labels, risk: risk ?? ownRisk(tool), reversibility, isDescribed };
}

const ownRisk = ({ annotations }: McpTool): ToolFacts['risk'] =>
  annotations?.destructiveHint === true ? 'high' : undefined;

/** What the operator says about a tool of this name. */
export function toolFacts({ tools = {} }: McpRules, name: string): ToolFacts {
  const fitting = Object.entries(tools).filter(([pattern]) => isLike(pattern, name));
  return Object.assign({}, ...fitting.map(([, facts]) => facts));
}

/** The tool of a call that is only observed. */
export function observedTool<T extends { readonly rules?: readonly Rule[] }>({ otherwise }: McpRules, tool: T): T {
  return otherwise === 'observe' ? { ...tool, rules: [...(tool.rules ?? []), { then: 'observe' }] } : tool;
}

/** The tool as the record and the card name it. */
export function descriptionOf(server: string, tool: McpTool, all: McpRules): ToolDescription {
  const { title: own, annotations = {}, description, inputSchema } = tool;
  const shown = [own, annotations.title, tool.name].find((text) => typeof text === 'string' && text !== '');
  return defined({
    name: recordedName(server, tool.name),
    title: `${server}: ${shown}`,
    description,
    inputSchema,
    risk: ownRisk(tool),
    ...toolFacts(all, tool.name),
    rules: rulesFor(all, tool),
  }) as ToolDescription;
}

/** Grants and policies go by it, so tools of two servers never share a name: names of servers have no `__`. */
function recordedName(server: string, tool: string): string {
  const name = `mcp__${server}__${tool}`;
  if (/^[\w-]{1,128}$/.test(name)) return name;
  return `${name.replaceAll(/[^\w-]/g, '_').slice(0, 105)}_${jsonHash(name)}`;
}
