// What the adapters of all frameworks share: the calls of their tools, asked for and run by the gate.
import { UsageError } from '../core/errors.ts';
import { anything, aString, checkOptions, type OptionKind, type OptionTable } from '../core/options.ts';
import type { Countersign } from '../countersign.ts';
import type { ToolConfig } from '../loop/tool/definition.ts';
import type { SchemaInput } from '../loop/tool/schema.ts';
import { tool } from '../loop/tool/tool.ts';
import { describedTool } from '../runs/gates/described-tool.ts';
import { type Gate, type GateBody, type GateResult, gateText } from '../runs/gates/gate.ts';

/** How a gated tool asks: its headline, its risk, who decides, and the like. `needsApproval` can be a function of the input. */
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
  | 'needsApproval'
  | 'verify'
> & {
  readonly title?: string | ((input: Input) => string | undefined);
  readonly preview?: (input: Input, ctx: { readonly signal: AbortSignal }) => unknown;
};

/** Options of every `gateTools`. */
export type GateToolsOptions = {
  /** The instance with the store. */
  readonly ai: Countersign<any>;
  /**
   * The conversation that the calls belong to, such as a thread id that your server chose. With the id of a call it is the key: the
   * same call asks once and runs once. Never take it from a client that could choose the one of another user.
   */
  readonly scope: string;
  /** The person or program on whose behalf the agent runs. */
  readonly by?: string;
  /** The name of the agent in the inbox; the name of the framework by default. */
  readonly name?: string;
  /** The tools that ask; all of them by default. */
  readonly approve?: readonly string[];
  /** How each tool asks, by its name. */
  readonly asks?: { readonly [tool: string]: AskConfig };
};

/** A tool as the framework describes it. */
export type FrameworkTool = {
  readonly name: string;
  readonly description?: string | undefined;
  /** Its body gets the input as this schema parses it. */
  readonly inputSchema?: SchemaInput | undefined;
};

/** The calls of the tools of one conversation. */
export class GatedCalls {
  readonly #options: GateToolsOptions;
  readonly #gates = new Map<string, Gate>();

  constructor(framework: string, tools: readonly FrameworkTool[], options: GateToolsOptions) {
    checkOptions('`gateTools`', options, OPTIONS);
    this.#options = options;
    const { ai, approve = tools.map(({ name }) => name), asks = {}, name = framework } = options;
    const known = new Set(tools.map((given) => given.name));
    const unknown = [...approve, ...Object.keys(asks)].filter((named) => !known.has(named));
    if (unknown.length > 0) {
      const message = `\`gateTools\` names ${unknown.join(', ')}, which is not one of its tools: ${[...known].join(', ')}.`;
      throw new UsageError('invalid-options', { unknown }, message);
    }
    for (const given of tools)
      if (approve.includes(given.name)) this.#gates.set(given.name, ai.gate(gated(given, asks[given.name]), { name }));
  }

  /** Calls of other tools run as they would without a gate. */
  isGated(tool: string): boolean {
    return this.#gates.has(tool);
  }

  /** Asks for the call, or finds it. With `run` an approved call runs, at most once. */
  ask(tool: string, callId: string, input: unknown, run?: GateBody, scope?: string): Promise<GateResult> {
    const { by } = this.#options;
    return this.#gate(tool).request(input, {
      key: this.key(callId, scope),
      ...(by !== undefined && { by }),
      ...(run && { run }),
    });
  }

  /** Withdraws the question about a call, because the conversation went on without it. */
  async withdraw(tool: string, callId: string, reason: string, scope?: string): Promise<GateResult> {
    return this.#gate(tool).withdraw({ key: this.key(callId, scope) }, { reason });
  }

  /**
   * The key of a call: the conversation that the server chose, and the id of the call. `scope` is for tools that several
   * conversations share.
   */
  key(callId: string, scope = this.#options.scope): string {
    if (!aScope.fits(scope)) throw cannotGate({ scope }, 'Its `scope` is not a string');
    if (!aScope.fits(callId)) throw cannotGate({ callId }, 'The framework gave no id for it');
    return JSON.stringify([scope, callId]);
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

/** The body comes with each call, from the framework. */
function gated({ name, description = '', inputSchema }: FrameworkTool, asks: AskConfig = {}) {
  const { body } = describedTool({ name });
  const schema = inputSchema && { inputSchema };
  return tool({ name, description, ...schema, ...asks, needsApproval: asks.needsApproval ?? true }, body as never);
}

const cannotGate = (ids: { readonly [name: string]: unknown }, why: string): UsageError =>
  new UsageError('invalid-options', ids, `This call cannot be gated: ${why}. Nothing was asked.`);

const aScope: OptionKind = {
  is: 'a string that is not empty',
  fits: (value) => typeof value === 'string' && value !== '',
  required: true,
};

const OPTIONS: OptionTable<GateToolsOptions> = {
  ai: { ...anything, required: true },
  scope: aScope,
  by: aString,
  name: aString,
  approve: { is: 'an array of names of tools', fits: Array.isArray },
  asks: anything,
};
