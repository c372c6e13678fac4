// Which calls a person has to decide: those of tools that need approval, and those that the gate was told of.
import type { ModelMessage, ToolSet } from 'ai';
import { UsageError } from '../core/errors.ts';

/** Tools by name, or a question asked of each call. */
export type Approve = readonly string[] | ((tool: string, input: unknown) => boolean | Promise<boolean>);

/** What the AI SDK says about a call beside its input. */
export type CallOptions = { readonly toolCallId: string; readonly messages: ModelMessage[] };

export type Asks = {
  /** Whether a person has to decide this call. Whatever is unclear means: ask. */
  person(tool: string, input: unknown, options: CallOptions): Promise<boolean>;
  /** Whether any call of this tool may ask, now or in another request. */
  ever(tool: string): boolean;
  /** Whether the provider runs it, and asks about it in its own way. A tool that is not ours may be such a one. */
  elsewhere(tool: string): boolean;
  /** Whether the tool has no `execute`: if its calls are decided, then in the recipe's way, by their output. */
  byOutput(tool: string): boolean;
  /** From now on, these tools without `execute` are asked about. */
  confirm(tools: readonly string[]): void;
};

export function createAsks(tools: ToolSet, approve: Approve = []): Asks {
  checkApprove(approve, tools);
  const confirmed = new Set<string>();
  const isListed = async (name: string, input: unknown): Promise<boolean> =>
    typeof approve === 'function' ? (await approve(name, input)) !== false : approve.includes(name);
  const hasExecute = (name: string): boolean => typeof ownTool(tools, name)?.execute === 'function';

  return {
    async person(name, input, options) {
      const tool = ownTool(tools, name);
      if (!tool) return false;
      try {
        if (!hasExecute(name)) return confirmed.has(name) || (await isListed(name, input));
        if (await isListed(name, input)) return true;
        const { needsApproval } = tool;
        // Version 6 and 7 hand out different options; both are what the AI SDK gave us.
        if (typeof needsApproval === 'function') return (await needsApproval(input, options as never)) !== false;
        return mayAsk(tool);
      } catch {
        // A rule that cannot say no has not said no.
        return true;
      }
    },
    ever(name) {
      const tool = ownTool(tools, name);
      // It may have been a tool before the last deploy.
      if (!tool) return true;
      return !hasExecute(name) || typeof approve === 'function' || approve.includes(name) || mayAsk(tool);
    },
    elsewhere(name) {
      const tool = ownTool(tools, name) as
        | { readonly type?: unknown; readonly isProviderExecuted?: unknown; readonly execute?: unknown }
        | undefined;
      if (!tool) return true;
      return tool.type === 'provider' && (tool.isProviderExecuted === true || tool.execute === undefined);
    },
    byOutput: (name) => ownTool(tools, name) !== undefined && !hasExecute(name),
    confirm(names) {
      for (const name of names) if (ownTool(tools, name) && !hasExecute(name)) confirmed.add(name);
    },
  };
}

/** The AI SDK asks for whatever else stands there, such as a word. */
function mayAsk({ needsApproval }: ToolSet[string]): boolean {
  return needsApproval !== undefined && needsApproval !== false;
}

/** A name that no tool has would leave the one that was meant without a gate. */
function checkApprove(approve: unknown, tools: ToolSet): void {
  if (typeof approve === 'function') return;
  if (!Array.isArray(approve))
    throw new UsageError('invalid-options', {}, '`approve` must be a list of names of tools, or a function.');
  const unknown = approve.filter((name) => typeof name !== 'string' || !ownTool(tools, name)).map(String);
  if (unknown.length === 0) return;
  const known = Object.keys(tools).join(', ') || 'none';
  throw new UsageError(
    'invalid-options',
    { unknown },
    `\`approve\` names ${unknown.join(', ')}, which is no tool of these: ${known}.`,
  );
}

/** Names come from models and clients: `constructor` is no tool. */
export function ownTool(tools: ToolSet, name: string): ToolSet[string] | undefined {
  return Object.hasOwn(tools, name) ? tools[name] : undefined;
}
