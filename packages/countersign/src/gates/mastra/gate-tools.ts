// Tools of Mastra whose calls ask first: the run is suspended, and only the record says what was decided.
import type { Tool, ToolExecutionContext } from '@mastra/core/tools';
import { OutcomeUnknown, UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { SchemaInput } from '../../loop/tool/schema.ts';
import type { GateResult } from '../../runs/gates/gate-result.ts';
import { GatedCalls, type GateToolsOptions, outputOrText } from '../gated-calls.ts';

/** Tools by the names that the model knows, as an agent of Mastra takes them. */
export type MastraTools = { readonly [name: string]: Tool<any, any, any, any, any, any, any> };

type InputOf<T> = T extends Tool<infer Input, any, any, any, any, any, any> ? Input : any;

/** What `key` can look at: the context in which a tool runs. */
type ToolContext = ToolExecutionContext<any, any, any>;

/** Options of `gateTools`. */
export type MastraGateOptions<Inputs extends object = any> = Omit<GateToolsOptions<Inputs>, 'key'> & {
  /**
   * The conversation that the calls belong to, or a function that finds it in the context of the tool, such as
   * `({ requestContext }) => requestContext?.get('chat')`. Your server must choose it: a client that can name the conversation of
   * another user reaches its calls.
   */
  readonly key: string | ((context: ToolContext) => string);
};

/** What the run is suspended with. `id` is the request to decide; what resumes the run decides nothing. */
export type ToolPause = {
  readonly status: 'pending' | 'doubt';
  readonly id: string;
  readonly runId: string;
  readonly tool: string;
  readonly input: unknown;
};

/**
 * The same tools, whose calls ask a person first. While a call waits, its agent or workflow is suspended. Decide the request, then
 * resume with any value: the call runs only if the record says that it was approved.
 */
export function gateTools<T extends MastraTools>(
  tools: T,
  options: MastraGateOptions<{ readonly [Name in keyof T]: InputOf<T[Name]> }>,
): T {
  const { key } = options;
  const named = Object.entries(tools);
  const described = named.map(([name, { description, inputSchema }]) => ({
    name,
    description,
    inputSchema: inputSchema as SchemaInput | undefined,
  }));
  // The key of a call replaces this one.
  const shared = typeof key === 'function' ? 'of each call' : key;
  const calls = new GatedCalls('mastra', described, { ...options, key: shared });
  const keyOf = typeof key === 'function' ? key : () => key;
  return Object.fromEntries(
    named.map(([name, tool]) => [name, calls.isGated(name) ? gatedTool(name, tool, calls, keyOf) : tool]),
  ) as T;
}

/** A copy, because an agent reads the fields of its tools. What suspends the run has a shape of ours, and any value resumes it. */
function gatedTool(
  name: string,
  tool: MastraTools[string],
  calls: GatedCalls,
  keyOf: (context: ToolContext) => string,
): MastraTools[string] {
  const { execute } = tool;
  if (!execute) throw new UsageError('invalid-options', { tool: name }, `${name} has no execute function to gate.`);
  const gated = async (input: unknown, given: unknown): Promise<unknown> => {
    const context = (given ?? {}) as ToolContext;
    const { callId, suspend } = callIn(name, context);
    const run = (checked: unknown) => runBody(name, execute as Execute, checked, context);
    const result = await calls.ask(name, callId, input, run, keyOf(context));
    if (!waits(result)) return outputOrText(name, result);
    const { status, id, runId } = result;
    return suspend({ status, id, runId, tool: name, input } satisfies ToolPause);
  };
  const copy = Object.assign(Object.create(Object.getPrototypeOf(tool)), tool);
  return Object.assign(copy, {
    execute: gated,
    suspendSchema: undefined,
    resumeSchema: undefined,
    requireApproval: false,
  });
}

type Execute = (input: unknown, context: unknown) => Promise<unknown>;
type Suspend = (payload: ToolPause) => Promise<unknown>;

/** The call in an agent by its id, the one in a workflow by its run: a tool is one step of it. */
function callIn(tool: string, context: ToolContext): { readonly callId: string; readonly suspend: Suspend } {
  const { agent, workflow } = unsorted(context);
  if (agent?.toolCallId) return { callId: agent.toolCallId, suspend: agent.suspend };
  if (workflow?.runId) {
    const { workflowId, runId, suspend } = workflow;
    return { callId: JSON.stringify([workflowId, runId]), suspend };
  }
  const message = `${tool} was called outside of an agent and a workflow, so its call has no id. Nothing was asked.`;
  throw new UsageError('invalid-options', { tool }, message);
}

type Caller<Ids> = Ids & { readonly suspend: Suspend };
type Callers = {
  readonly agent?: Caller<{ readonly toolCallId: string }>;
  readonly workflow?: Caller<{ readonly workflowId: string; readonly runId: string }>;
};

/** An agent may give the fields of `agent` unsorted; Mastra's own wrapper sorts them, and runs after ours. */
function unsorted(context: object): Callers {
  const { agent, workflow, toolCallId, suspend } = context as Callers & { toolCallId?: string; suspend?: Suspend };
  const found = agent ?? (toolCallId && suspend ? { toolCallId, suspend } : undefined);
  return { ...(found && { agent: found }), ...(workflow && { workflow }) };
}

function waits(result: GateResult): result is Extract<GateResult, { status: 'pending' | 'doubt' }> {
  return result.status === 'pending' || result.status === 'doubt';
}

async function runBody(name: string, execute: Execute, input: unknown, context: ToolContext): Promise<unknown> {
  const suspend = () => {
    throw new Error(`${name} called suspend(), which a gated tool must not do.`);
  };
  const inside = { ...context, suspend, ...within('agent', context, suspend), ...within('workflow', context, suspend) };
  try {
    const output = await execute(input, inside);
    // Mastra returns what does not fit the schemas of a tool instead of throwing it.
    if (isObject(output) && output.error === true && 'validationErrors' in output)
      throw new Error(String(output.message));
    return output ?? null;
  } catch (error) {
    if (context.abortSignal?.aborted) throw new OutcomeUnknown(`${name} was aborted while it ran.`, { cause: error });
    throw error;
  }
}

/** The resume value is no decision, so the body never sees it. */
function within(part: 'agent' | 'workflow', context: ToolContext, suspend: () => never): object {
  const own = context[part];
  return own ? { [part]: { ...own, suspend, resumeData: undefined } } : {};
}
