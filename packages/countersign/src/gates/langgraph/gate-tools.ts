// Tools of LangChain whose calls ask first: the graph pauses with `interrupt()`, and only the record says what was decided.
import type { StructuredToolInterface } from '@langchain/core/tools';
import { interrupt, isGraphInterrupt } from '@langchain/langgraph';
import { OutcomeUnknown, UsageError } from '../../core/errors.ts';
import type { SchemaInput } from '../../loop/tool/schema.ts';
import type { GateResult } from '../../runs/gates/gate-result.ts';
import { GatedCalls, type GateToolsOptions, outputOrText } from '../gated-calls.ts';
import { readOutput, writeOutput } from './outputs.ts';

/** What `key` can look at: the configuration of the graph's run. */
export type GraphConfig = { readonly configurable?: Readonly<Record<string, any>>; readonly context?: any };

/** Options of `gateTools`. */
export type GraphGateOptions<Inputs extends object = any> = Omit<GateToolsOptions<Inputs>, 'key'> & {
  /**
   * The conversation that the calls belong to, or a function that finds it, such as
   * `(config) => config.configurable?.thread_id`. Your server must choose the thread: a client that can name the thread of another
   * user reaches its calls.
   */
  readonly key: string | ((config: GraphConfig) => string);
};

/** The value of the interrupt that pauses the graph. `id` is the request to decide; what resumes the graph decides nothing. */
export type GraphPause = {
  readonly status: 'pending' | 'doubt';
  readonly id: string;
  readonly runId: string;
  readonly tool: string;
  readonly input: unknown;
};

/** The gate of a tool, as `withdrawAbandoned` uses it. */
export type ToolGate = {
  readonly calls: GatedCalls;
  readonly keyOf: (config: GraphConfig) => string | undefined;
};

const GATES = new WeakMap<object, ToolGate>();

/** The gate of a tool that `gateTools` returned. */
export const gateOf = (tool: object): ToolGate | undefined => GATES.get(tool);

/**
 * The same tools, whose calls ask a person first. While a call waits, its graph is paused by `interrupt()` and needs a checkpointer.
 * Decide the request, then resume the graph with any value: the call runs only if the record says that it was approved.
 */
export function gateTools<const T extends readonly StructuredToolInterface[]>(
  tools: T,
  options: GraphGateOptions<{ readonly [Name in T[number]['name']]: any }>,
): { -readonly [I in keyof T]: T[I] } {
  const { key } = options;
  const described = tools.map(({ name, description, schema }) => ({
    name,
    description,
    inputSchema: schema as SchemaInput,
  }));
  // The key of a call replaces this one.
  const shared = typeof key === 'function' ? 'of each call' : key;
  const gate: ToolGate = {
    calls: new GatedCalls('langgraph', described, { ...options, key: shared }),
    keyOf: typeof key === 'function' ? key : () => key,
  };
  const gated = tools.map((tool) => (gate.calls.isGated(tool.name) ? gatedTool(tool as CallableTool, gate) : tool));
  return gated as unknown as { -readonly [I in keyof T]: T[I] };
}

/** The parts of a tool that run a call: `call` checks the input, tells callbacks, and gets the output from `_call`. */
type CallableTool = StructuredToolInterface & {
  readonly responseFormat?: string;
  _call(input: unknown, manager: ToolManager | undefined, config: CallConfig | undefined): unknown;
};

type ToolManager = { readonly handleToolEvent?: (event: unknown) => unknown };
type CallConfig = GraphConfig & { readonly toolCall?: { readonly id?: string }; readonly signal?: AbortSignal };

/** Both objects inherit from the tool, so that it stays what it was for the framework. */
function gatedTool(tool: CallableTool, gate: ToolGate): CallableTool {
  const call = (input: unknown, ...rest: unknown[]) => {
    const _call = (_parsed: unknown, manager: ToolManager | undefined, config: CallConfig = {}) =>
      decided(tool, gate, isToolCall(input) ? input.args : input, manager, config);
    const thisCall = Object.create(tool, { _call: { value: _call } }) as CallableTool;
    return Reflect.apply(tool.call, thisCall, [input, ...rest]);
  };
  const gated = Object.create(tool, { call: { value: call } }) as CallableTool;
  GATES.set(gated, gate);
  return gated;
}

/** The output of the call, or the text about it. Pauses the graph until there is one. */
async function decided(
  tool: CallableTool,
  { calls, keyOf }: ToolGate,
  input: unknown,
  manager: ToolManager | undefined,
  config: CallConfig,
): Promise<unknown> {
  const { name } = tool;
  const { id: callId } = config.toolCall ?? {};
  if (callId === undefined) throw noCallId(name);
  const run = (checked: unknown) => runBody(tool, checked, manager, config);
  for (;;) {
    const result = await calls.ask(name, callId, input, run, keyOf(config));
    if (!waits(result)) return given(tool, result, callId);
    const { status, id, runId } = result;
    // Throws, unless the graph was resumed. What it was resumed with is no decision.
    interrupt({ status, id, runId, tool: name, input } satisfies GraphPause);
  }
}

function waits(result: GateResult): result is Extract<GateResult, { status: 'pending' | 'doubt' }> {
  return result.status === 'pending' || result.status === 'doubt';
}

function given({ name, responseFormat }: CallableTool, result: GateResult, callId: string): unknown {
  if (result.status === 'done') return readOutput(result.output, name, callId);
  const text = outputOrText(name, result);
  return responseFormat === 'content_and_artifact' ? [text, undefined] : text;
}

async function runBody(
  tool: CallableTool,
  input: unknown,
  manager: ToolManager | undefined,
  config: CallConfig,
): Promise<unknown> {
  try {
    return writeOutput(await lastOf(await tool._call(input, manager, config), manager));
  } catch (error) {
    // LangChain stops waiting for a tool when its caller leaves. The tool may still be at work.
    if (config.signal?.aborted) throw new OutcomeUnknown(`${tool.name} was aborted while it ran.`, { cause: error });
    if (isGraphInterrupt(error)) throw new Error(`${tool.name} called interrupt(), which a gated tool must not do.`);
    throw error;
  }
}

/** A tool may yield events before it returns its output. */
async function lastOf(returned: unknown, manager: ToolManager | undefined): Promise<unknown> {
  if (!isGenerator(returned)) return returned;
  for (;;) {
    const { done, value } = await returned.next();
    if (done) return value;
    await manager?.handleToolEvent?.(value);
  }
}

const isGenerator = (value: unknown): value is AsyncGenerator =>
  typeof value === 'object' && value !== null && 'next' in value && Symbol.asyncIterator in value;

const isToolCall = (input: unknown): input is { readonly args: unknown } =>
  typeof input === 'object' && input !== null && 'type' in input && input.type === 'tool_call' && 'args' in input;

const noCallId = (tool: string): UsageError =>
  new UsageError(
    'invalid-options',
    { tool },
    `${tool} was called without a tool call. A gated tool runs in a graph, or with invoke({ type: 'tool_call', id, name, args }).`,
  );
