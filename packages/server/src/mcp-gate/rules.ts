// The rules of the MCP gateway: which calls run at once, which ones a person is asked about, and which ones are refused.
import { type ToolDescription, UsageError, z } from 'countersign';
import { type Condition, meets } from 'countersign/request';
import { defined } from '../defined.ts';
import { jsonHash } from '../json-hash.ts';

/** What an MCP server says about a tool. Nothing in it is verified. */
export type McpTool = {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: { readonly [key: string]: unknown };
  readonly annotations?: { readonly [hint: string]: unknown };
};

/** The hints that a rule may ask for, with what they mean if the server leaves them out, as the protocol says. */
const HINTS = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };

type Hint = keyof typeof HINTS;
const hintNames = Object.keys(HINTS) as [Hint, ...Hint[]];

/** One rule. It matches a call that has everything that the rule names. */
export type McpRule = {
  /** The name of the tool; `*` stands for any characters. All tools by default. */
  readonly tool?: string | readonly string[];
  /** Hints as the server annotates the tool. One that it leaves out has the default of the protocol. */
  readonly annotations?: { readonly [hint in Hint]?: boolean };
  /** Conditions on the arguments. */
  readonly where?: readonly Condition[];
  /** `allow`: it runs without a question. `ask`: a person decides. `deny`: it never runs. */
  readonly action: 'allow' | 'ask' | 'deny';
  /** Why it is denied, for the model. */
  readonly reason?: string;
} & Pick<ToolDescription, 'title' | 'risk' | 'reversibility' | 'labels' | 'policy' | 'expiresIn' | 'onExpiry'>;

/** The rules of a gateway: the first one that matches decides. */
export type McpRules = {
  readonly rules?: readonly McpRule[];
  /** For calls that no rule matches; `ask` by default. */
  readonly otherwise?: McpRule['action'];
};

const action = z.enum(['allow', 'ask', 'deny']);
const names = z.union([z.string().min(1), z.array(z.string().min(1))]);
const condition = z.strictObject({
  field: z.union([z.string(), z.array(z.string())]),
  equals: z.json().optional(),
  oneOf: z.array(z.json()).optional(),
  above: z.number().optional(),
  atLeast: z.number().optional(),
  below: z.number().optional(),
  atMost: z.number().optional(),
});

const Rules = z.strictObject({
  otherwise: action.optional(),
  rules: z
    .array(
      z.strictObject({
        tool: names.optional(),
        annotations: z.partialRecord(z.enum(hintNames), z.boolean()).optional(),
        where: z.array(condition).optional(),
        action,
        reason: z.string().optional(),
        title: z.string().optional(),
        risk: z.enum(['low', 'medium', 'high']).optional(),
        reversibility: z.enum(['read-only', 'reversible', 'irreversible']).optional(),
        labels: z.array(z.string()).optional(),
        policy: z.string().optional(),
        expiresIn: z.number().positive().optional(),
        onExpiry: z.enum(['reject', 'cancel']).optional(),
      }),
    )
    .optional(),
});

/** The rules in a value from a file. A mistake in them would leave calls unprotected, so it is thrown. */
export function parseRules(value: unknown, file: string): McpRules {
  const parsed = Rules.safeParse(value);
  if (parsed.success) return parsed.data as McpRules;
  const [issue] = parsed.error.issues;
  const message = `Invalid rules in ${file}: ${issue?.path.join('.') || 'the file'}: ${issue?.message}.`;
  throw new UsageError('invalid-options', {}, `${message} See the guide: Put a gate before an MCP server.`);
}

/** The rule for a call. Without a matching rule a person is asked. */
export function ruleFor({ rules = [], otherwise = 'ask' }: McpRules, tool: McpTool, input: unknown): McpRule {
  return rules.find((rule) => matches(rule, tool, input)) ?? { action: otherwise };
}

/** Where it cannot be known whether a condition is met, a rule that allows does not match, and the others do. */
function matches(rule: McpRule, { name, annotations: hints = {} }: McpTool, input: unknown): boolean {
  const { tool = '*', annotations = {}, where = [] } = rule;
  if (![tool].flat().some((pattern) => globOf(pattern).test(name))) return false;
  const has = (hint: Hint) => (typeof hints[hint] === 'boolean' ? hints[hint] : HINTS[hint]);
  if (!hintNames.every((hint) => annotations[hint] === undefined || has(hint) === annotations[hint])) return false;
  const isMet = meets(where, (input ?? {}) as Parameters<typeof meets>[1]);
  return rule.action === 'allow' ? isMet === true : isMet !== false;
}

const globOf = (pattern: string): RegExp =>
  new RegExp(
    `^${pattern
      .split('*')
      .map((text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
      .join('[^]*')}$`,
  );

/** The tool as the record and the card name it. */
export function descriptionOf(server: string, tool: McpTool, rule: McpRule): ToolDescription {
  const { title, risk, labels, policy, expiresIn, onExpiry, reversibility } = rule;
  const { title: own, annotations = {}, description, inputSchema } = tool;
  const shown = [own, annotations.title, tool.name].find((text) => typeof text === 'string' && text !== '');
  return defined({
    name: recordedName(server, tool.name),
    title: title ?? `${server}: ${shown}`,
    description,
    inputSchema,
    risk: risk ?? (annotations.destructiveHint === true ? ('high' as const) : undefined),
    labels,
    policy,
    expiresIn,
    onExpiry,
    reversibility,
  }) as ToolDescription;
}

/** Grants and policies go by it, so tools of two servers never share a name: names of servers have no `__`. */
function recordedName(server: string, tool: string): string {
  const name = `mcp__${server}__${tool}`;
  if (/^[\w-]{1,128}$/.test(name)) return name;
  return `${name.replaceAll(/[^\w-]/g, '_').slice(0, 105)}_${jsonHash(name)}`;
}
