// What the adapters of all frameworks share: the calls of their tools, asked for and run by the gate.
import { UsageError } from '../core/errors.ts';
import { defined } from '../core/json.ts';
import { anything, aString, checkOptions, type OptionKind, type OptionTable } from '../core/options.ts';
import type { Countersign } from '../countersign.ts';
import type { Approval, ApprovalContext, PolicyConfig, Title, Tool, ToolConfig } from '../loop/tool/definition.ts';
import type { SchemaInput } from '../loop/tool/schema.ts';
import { tool } from '../loop/tool/tool.ts';
import { describedTool } from '../runs/gates/described-tool.ts';
import type { Gate, GateBody } from '../runs/gates/gate.ts';
import { type GateResult, gateText } from '../runs/gates/gate-result.ts';

/** How the calls of a tool ask, beside `title`, `preview` and `policy`. `needsApproval` can be a function of the input. */
export type AskConfig<Input = any> = Pick<
  ToolConfig,
  | 'labels'
  | 'risk'
  | 'reversibility'
  | 'notice'
  | 'expiresIn'
  | 'onExpiry'
  | 'remindAfter'
  | 'idempotent'
  | 'settlesWithin'
  | 'onPreviewChange'
  | 'verify'
  | 'howToCheck'
> & {
  readonly needsApproval?: boolean | Approval<Input> | ((input: Input, ctx: ApprovalContext) => NeedsApproval<Input>);
};

type NeedsApproval<Input> = boolean | Approval<Input> | Promise<boolean | Approval<Input>>;

/** Options of every `gateTools`. `Inputs` has the input of each tool, by its name. */
export type GateToolsOptions<Inputs extends object = { readonly [tool: string]: any }> = {
  /** The instance with the store. */
  readonly ai: Countersign<any>;
  /**
   * The conversation that the calls belong to, such as a thread id that your server chose. With the id of a call it is the key: the
   * same call asks once and runs once. Never take it from a client that could choose the one of another user.
   */
  readonly key: string;
  /** The person or program on whose behalf the agent runs. */
  readonly by?: string;
  /** The name of the agent in the inbox; the name of the framework by default. */
  readonly name?: string;
  /** The tools that ask; all of them by default. */
  readonly approve?: readonly (keyof Inputs & string)[];
  /** The headlines of requests, by tool: a text, or a function of the input. */
  readonly title?: { readonly [Name in keyof Inputs]?: Title<Inputs[Name]> };
  /** What a call would do, by tool. It is shown on the request, and computed again before an approved call runs. */
  readonly preview?: {
    readonly [Name in keyof Inputs]?: (input: Inputs[Name], ctx: { readonly signal: AbortSignal }) => unknown;
  };
  /** Who decides: the name of a policy, or the policy itself. A policy that `needsApproval` names goes before it. */
  readonly policy?: string | PolicyConfig;
  /** How else each tool asks, by its name. */
  readonly asks?: { readonly [Name in keyof Inputs]?: AskConfig<Inputs[Name]> };
};

/** A tool as the framework describes it. */
export type FrameworkTool = {
  readonly name: string;
  readonly description?: string | undefined;
  /** Its body gets the input as this schema parses it. */
  readonly inputSchema?: SchemaInput | undefined;
} & Partial<
  Pick<ToolConfig, 'outputSchema' | 'inputJsonSchema' | 'outputJsonSchema' | 'labels' | 'onPreviewChange'>
> & {
    readonly title?: string | undefined;
  };

/** The calls of the tools of one conversation. */
export class GatedCalls {
  readonly #options: GateToolsOptions<any>;
  readonly #gates = new Map<string, Gate>();

  constructor(framework: string, tools: readonly FrameworkTool[], options: GateToolsOptions<any>) {
    checkOptions('`gateTools`', options, OPTIONS);
    this.#options = options;
    const { ai, approve = tools.map(({ name }) => name), name = framework } = options;
    checkNames(options, new Set(tools.map((given) => given.name)));
    for (const given of tools)
      if (approve.includes(given.name)) this.#gates.set(given.name, ai.gate(askingTool(given, options), { name }));
  }

  /** Calls of other tools run as they would without a gate. */
  isGated(tool: string): boolean {
    return this.#gates.has(tool);
  }

  /** Asks for the call, or finds it. The next call after one that a person sent back revises that. With `run` an approved call runs, at most once. */
  ask(tool: string, callId: string, input: unknown, run?: GateBody, conversation?: string): Promise<GateResult> {
    const { by } = this.#options;
    const key = this.key(callId, conversation);
    const place = { conversation: conversation ?? this.#options.key };
    return this.#gate(tool).request(input, { key, ...place, ...(by !== undefined && { by }), ...(run && { run }) });
  }

  /** Withdraws the request about a call, because the conversation went on without it. */
  async withdraw(tool: string, callId: string, reason: string, conversation?: string): Promise<GateResult> {
    return this.#gate(tool).withdraw({ key: this.key(callId, conversation) }, { reason });
  }

  /**
   * The key of a call: the conversation that the server chose, and the id of the call. `conversation` is for tools that several
   * conversations share.
   */
  key(callId: string, conversation = this.#options.key): string {
    if (!aKey.fits(conversation)) throw cannotGate({ key: conversation }, 'Its `key` is not a string');
    if (!aKey.fits(callId)) throw cannotGate({ callId }, 'The framework gave no id for it');
    return JSON.stringify([conversation, callId]);
  }

  #gate(tool: string): Gate {
    const gate = this.#gates.get(tool);
    if (gate) return gate;
    throw new UsageError('unknown-tool', { tool }, `${tool} is not gated.`);
  }
}

/** The output of the call, or the text that the model gets instead. */
export function outputOrText(tool: string, result: GateResult): unknown {
  return result.status === 'done' ? result.output : gateText(tool, result);
}

/** A misspelt name would have no effect, or leave the tool that was meant without a gate. */
export function checkNames(
  { approve, title, preview, asks }: { readonly [option in 'approve' | 'title' | 'preview' | 'asks']?: unknown },
  known: ReadonlySet<string>,
): void {
  const named = Array.isArray(approve) ? approve.map(String) : [];
  const unknown = [title, preview, asks]
    .flatMap((byTool) => Object.keys(byTool ?? {}))
    .concat(named)
    .filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  const message = `\`gateTools\` names ${unknown.join(', ')}, which is not one of its tools: ${[...known].join(', ')}.`;
  throw new UsageError('invalid-options', { unknown }, message);
}

/** The tool as the gate knows it. Most bodies come with each call, from the framework. */
export function askingTool(
  { name, description = '', ...given }: FrameworkTool,
  { title, preview, policy, asks }: Pick<GateToolsOptions<any>, 'title' | 'preview' | 'policy' | 'asks'>,
  body: GateBody = describedTool({ name }).body as GateBody,
): Tool {
  const { needsApproval = true, ...how }: AskConfig = asks?.[name] ?? {};
  const own = defined({ title: title?.[name], preview: preview?.[name] });
  const config = { ...defined(given), ...how, ...own, name, description };
  return tool({ ...config, needsApproval: withPolicy(needsApproval, policy) } as never, body as never);
}

/** The same answer, with this policy where it names none. */
function withPolicy(
  needsApproval: NonNullable<AskConfig['needsApproval']>,
  policy: GateToolsOptions['policy'],
): AskConfig['needsApproval'] {
  if (policy === undefined) return needsApproval;
  const complete = (asked: boolean | Approval) => asked !== false && { policy, ...(asked !== true && asked) };
  return typeof needsApproval === 'function'
    ? async (input, ctx) => complete(await needsApproval(input, ctx))
    : complete(needsApproval);
}

const cannotGate = (ids: { readonly [name: string]: unknown }, why: string): UsageError =>
  new UsageError('invalid-options', ids, `This call cannot be gated: ${why}. Nothing was asked.`);

export const aKey: OptionKind = {
  is: 'a string that is not empty',
  fits: (value) => typeof value === 'string' && value !== '',
  required: true,
};

const OPTIONS: OptionTable<GateToolsOptions> = {
  ai: { ...anything, required: true },
  key: aKey,
  by: aString,
  name: aString,
  approve: { is: 'an array of names of tools', fits: Array.isArray },
  title: anything,
  preview: anything,
  policy: anything,
  asks: anything,
};
