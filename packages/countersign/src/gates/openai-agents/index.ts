// countersign/openai-agents: the tools of an agent of the OpenAI Agents SDK, behind the gate.
import type { FunctionTool, RunState, RunToolApprovalItem } from '@openai/agents';
import { UsageError } from '../../core/errors.ts';
import { sameJson } from '../../core/json.ts';
import type { JsonSchema } from '../../models/model.ts';
import { GatedCalls, type GateToolsOptions, outputOrText } from '../gated-calls.ts';

export type { AskConfig, GateToolsOptions } from '../gated-calls.ts';

/** A tool made by `tool()` of `@openai/agents`. */
export type AgentTool = FunctionTool<any, any, any>;

/**
 * Puts the tools of an agent behind the gate. An undecided call pauses the agent's own loop: it is in `result.interruptions`, and
 * `result.state` can be saved. Once the record says approved, the saved state goes on, and the call runs at most once. The
 * framework's own `approve` and `reject` are not decisions: only `ai.runs.decide`, the inbox and the API decide.
 *
 * @example
 * ```ts
 * const agent = new Agent({ name: 'clerk', tools: gateTools([pay, search], { ai, key: conversationId, approve: ['pay'] }) });
 * const result = await run(agent, 'Pay ACME.');
 * if (result.interruptions.length > 0) await save(result.state.toString());
 * ```
 */
export function gateTools<Tools extends readonly AgentTool[]>(
  tools: readonly [...Tools],
  options: GateToolsOptions<{ readonly [Name in Tools[number]['name']]: any }>,
): [...Tools] {
  const functions = tools.map(aFunctionTool);
  const described = functions.map(({ name, description, parameters }) => ({
    name,
    description,
    inputSchema: parameters as JsonSchema,
  }));
  const calls = new GatedCalls('openai-agents', described, options);
  return functions.map((given) => (calls.isGated(given.name) ? gated(given, calls) : given)) as unknown as [...Tools];
}

/**
 * Tells the framework which calls of a restored state the record has decided, so that the state can be saved again if others still
 * wait. It decides nothing: a rejected call stays rejected, and its text reaches the model.
 */
export async function approveDecided(state: RunState<any, any>): Promise<void> {
  for (const item of state.getInterruptions()) {
    const given = (item.agent.tools as readonly AgentTool[]).find(({ name }) => name === item.name);
    if (given && GATED.has(given) && !(await isWaiting(given, item))) state.approve(item);
  }
}

/** The framework pauses for arguments that are not JSON without asking the tool. No person is asked: the model gets an error. */
async function isWaiting(given: AgentTool, { rawItem }: RunToolApprovalItem): Promise<boolean> {
  const { callId, arguments: args = '' } = rawItem as { readonly callId?: string; readonly arguments?: string };
  const input = inputIn(args);
  return input !== undefined && (await given.needsApproval(undefined as never, input, callId));
}

/** Undefined if the arguments are not JSON. */
function inputIn(args: string): unknown {
  try {
    return JSON.parse(args);
  } catch {
    // A mistake of the model.
    return undefined;
  }
}

const GATED = new WeakSet<AgentTool>();

/** A person is asked about both. */
const WAITS: ReadonlySet<string> = new Set(['pending', 'doubt']);

type Invoke = AgentTool['invoke'];
type Details = Parameters<Invoke>[2];

function gated(given: AgentTool, calls: GatedCalls): AgentTool {
  const { name } = given;
  const invoke: Invoke = async (runContext, args, details) => {
    const input = inputIn(args);
    if (input === undefined) return `The arguments of ${name} are not JSON. It was not run.`;
    const body = (approved: unknown) => {
      const isEdited = !sameJson(approved as never, input);
      return given.invoke(
        runContext,
        isEdited ? JSON.stringify(approved) : args,
        isEdited ? edited(details, approved) : details,
      );
    };
    try {
      return outputOrText(name, await calls.ask(name, callIdIn(details), input, body));
    } catch (error) {
      if (isInvalid(error)) return error.message;
      throw error;
    }
  };
  const needsApproval: AgentTool['needsApproval'] = async (_runContext, input, callId = '') => {
    try {
      return WAITS.has((await calls.ask(name, callId, input)).status);
    } catch (error) {
      // The model learns about it from `invoke`, which runs nothing either.
      if (isInvalid(error)) return false;
      throw error;
    }
  };
  const wrapped = { ...given, needsApproval, invoke };
  GATED.add(wrapped);
  return wrapped;
}

const callIdIn = (details: Details): string => details?.toolCall?.callId ?? '';

/** The body must not see the arguments that a person replaced. */
function edited(details: Details, input: unknown): Details {
  return details?.toolCall && { ...details, toolCall: { ...details.toolCall, arguments: JSON.stringify(input) } };
}

/** The input does not fit the schema: a mistake of the model, which gets the text. */
function isInvalid(error: unknown): error is UsageError {
  return error instanceof UsageError && error.code === 'invalid-request';
}

function aFunctionTool(given: AgentTool): AgentTool {
  if (given?.type === 'function' && typeof given.invoke === 'function') return given;
  const name = String((given as { readonly name?: unknown } | undefined)?.name);
  const message = `\`gateTools\` takes tools made by \`tool()\`, and ${name} is not one. Pass it to the agent beside them.`;
  throw new UsageError('invalid-options', { tool: name }, message);
}
