// Which calls need approval: those of tools with `needsApproval`, and those in the `approve` option of the gate.
import type { ModelMessage, ToolSet } from 'ai';
import { UsageError } from '../../core/errors.ts';

/** The names of the tools that need approval, or a function that is asked about each call. */
export type Approve = readonly string[] | ((tool: string, input: unknown) => boolean | Promise<boolean>);

/** What the AI SDK passes with a call, beside its input. */
export type CallOptions = { readonly toolCallId: string; readonly messages: ModelMessage[] };

export type ApprovalRules = {
  /** Whether a person must decide this call. In doubt, they must. */
  needsApproval(tool: string, input: unknown, options: CallOptions): Promise<boolean>;
  /** Whether any call of this tool may need approval, now or in another request. */
  mayNeedApproval(tool: string): boolean;
  /** Whether the provider runs the tool and asks for approval itself. An unknown tool may be such a tool. */
  runsAtProvider(tool: string): boolean;
  /** Whether the tool has no `execute`: its calls are decided by their output, as in the AI SDK's recipe. */
  isDecidedByOutput(tool: string): boolean;
  /** From now on, calls of these tools without `execute` need approval. */
  requireConfirmation(tools: readonly string[]): void;
};

export function createApprovalRules(tools: ToolSet, approve: Approve = []): ApprovalRules {
  if (typeof approve !== 'function' && !Array.isArray(approve))
    throw new UsageError('invalid-options', {}, '`approve` must be an array of tool names, or a function.');
  const confirmed = new Set<string>();
  const isListed = async (name: string, input: unknown): Promise<boolean> =>
    typeof approve === 'function' ? (await approve(name, input)) !== false : approve.includes(name);
  const hasExecute = (name: string): boolean => typeof ownTool(tools, name)?.execute === 'function';

  return {
    async needsApproval(name, input, options) {
      const tool = ownTool(tools, name);
      if (!tool) return false;
      try {
        if (!hasExecute(name)) return confirmed.has(name) || (await isListed(name, input));
        if (await isListed(name, input)) return true;
        const { needsApproval } = tool;
        // The options differ between version 6 and 7; the tool gets those of its own version.
        if (typeof needsApproval === 'function') return (await needsApproval(input, options as never)) !== false;
        return hasApproval(tool);
      } catch {
        // A rule that throws has not said no.
        return true;
      }
    },
    mayNeedApproval(name) {
      const tool = ownTool(tools, name);
      // It may have existed before the last deploy.
      if (!tool) return true;
      return !hasExecute(name) || typeof approve === 'function' || approve.includes(name) || hasApproval(tool);
    },
    runsAtProvider(name) {
      const tool = ownTool(tools, name) as
        | { readonly type?: unknown; readonly isProviderExecuted?: unknown; readonly execute?: unknown }
        | undefined;
      if (!tool) return true;
      return tool.type === 'provider' && (tool.isProviderExecuted === true || tool.execute === undefined);
    },
    isDecidedByOutput: (name) => ownTool(tools, name) !== undefined && !hasExecute(name),
    requireConfirmation(names) {
      for (const name of names) if (ownTool(tools, name) && !hasExecute(name)) confirmed.add(name);
    },
  };
}

/** Like the AI SDK, takes any other value, such as a string, for yes. */
function hasApproval({ needsApproval }: ToolSet[string]): boolean {
  return needsApproval !== undefined && needsApproval !== false;
}

/** Names come from models and clients: `constructor` is not a tool. */
export function ownTool(tools: ToolSet, name: string): ToolSet[string] | undefined {
  return Object.hasOwn(tools, name) ? tools[name] : undefined;
}
