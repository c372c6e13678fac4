// Agents: a name for a configuration, which can itself be a tool of another agent.

import { CountersignError, UsageError } from '../core/errors.ts';
import { isToolRequest, type Message, type ToolRequestPart } from '../core/messages/message.ts';
import {
  aContext,
  anything,
  aStringOrNull,
  checkOptions,
  type OptionTable,
  someStrings,
  without,
} from '../core/options.ts';
import type { Outer } from '../core/origin/search.ts';
import { Chat, type ChatOptions } from './chat.ts';
import { type GenerateStream, streamed } from './generate.ts';
import { GENERATE_OPTIONS, type GenerateOptions, refuseMessages, withDefaults } from './options.ts';
import type { GenerateResponse } from './response.ts';
import type { SubAgentRecord } from './sink.ts';
import type { Chunk } from './stream/chunk.ts';
import { Continuation } from './tool/continuation.ts';
import type { Context, SubAgentContext, ToolContext, ToolDefinition, UnknownNames } from './tool/definition.ts';
import { ANYTHING, asSchema, type InferOutput, type SchemaInput } from './tool/schema.ts';
import { HeldSignal, LeftSignal, LostSignal } from './tool/signal.ts';
import { checkName } from './tool/tool-config.ts';
import type { ToolInput } from './tool/toolbox.ts';

/** The options of `defineAgent`: a name, and defaults for the options of `generate`. */
export type AgentConfig<
  I extends SchemaInput = any,
  O extends SchemaInput = any,
  T extends readonly ToolInput[] = readonly ToolInput[],
  C extends Context = Context,
> = Omit<
  GenerateOptions<O, T, C>,
  'prompt' | 'messages' | 'resume' | 'toolResponses' | 'abortSignal' | 'runId' | 'onChunk' | 'returnToolRequests'
> & {
  readonly name: string;
  /** Describes this agent to another agent that has it among its tools. */
  readonly description?: string;
  /** Messages that a chat offers to begin with, such as `Pay ACME 950 euros`. */
  readonly suggestions?: readonly string[];
  /** The input another agent passes to this one; `{ prompt }` by default. */
  readonly inputSchema?: I;
  /** Makes the prompt from that input; by default its `prompt`, or its JSON. */
  readonly toPrompt?: (input: InferOutput<I>) => string;
};

/** A named configuration. In another agent's `tools` it is a sub-agent, whose interrupts surface at the root. */
export interface Agent<Output = any, Interrupt extends ToolRequestPart = ToolRequestPart, C extends Context = Context> {
  readonly name: string;
  readonly definition: ToolDefinition;
  readonly suggestions: readonly string[];
  /** Like `generate` of the instance, with the agent's options as defaults. */
  generate(options: string | AgentCallOptions<C>): Promise<GenerateResponse<Output, Interrupt>>;
  generateStream(options: string | AgentCallOptions<C>): GenerateStream<Output, Interrupt>;
  /** Starts a conversation; with `runId`, opens the stored one. */
  chat(options?: ChatOptions<C>): Chat<C, Interrupt>;
  /** Records a run in the store and drives it. Resolves once the start is durable. */
  start(input: StartInput, options?: StartOptions<C>): Promise<{ readonly id: string }>;
}

type AgentCallOptions<C extends Context> = GenerateOptions<any, readonly ToolInput[], C>;

/** What a stored run is started with. */
export type StartInput =
  | string
  | { readonly prompt?: GenerateOptions['prompt']; readonly messages?: readonly Message[] };

export type StartOptions<C extends Context = Context> = {
  /** Chosen by the caller, so that a repeated start does not start twice; random by default. */
  readonly runId?: string;
  readonly context?: C;
  /** The person who starts the run. */
  readonly by?: string;
};

export type Starter = (
  defaults: GenerateOptions,
  input: StartInput,
  options: StartOptions,
) => Promise<{ readonly id: string }>;

type Generate = (options: GenerateOptions, subAgent?: SubAgentRecord, outer?: Outer) => Promise<GenerateResponse>;
type FindTools = (tools: GenerateOptions['tools'], unknown: UnknownNames) => ReadonlyMap<string, ToolDefinition>;

export function makeAgent<I extends SchemaInput, O extends SchemaInput>(
  config: AgentConfig<I, O>,
  generate: Generate,
  findTools: FindTools,
  start: Starter,
): Agent<InferOutput<O>, any, any> {
  const {
    name,
    description: _description,
    suggestions = [],
    inputSchema: _input,
    toPrompt: _prompt,
    ...defaults
  } = config;
  const run: Generate = async (options, ...inside) => {
    if (options?.runId !== undefined) refuseFixed(name, options);
    return generate(withDefaults(defaults, options), ...inside);
  };
  const definition = agentTool(config as AgentConfig, run, (unknown = 'leave-out') => findTools(config.tools, unknown));
  return {
    name,
    definition,
    suggestions: [...suggestions],
    generate: (options) => run(typeof options === 'string' ? { prompt: options } : options),
    generateStream: (options) => streamed(options, run),
    chat: (options) => new Chat(run, options),
    async start(input, options = {}) {
      checkOptions('`start`', options, START_OPTIONS);
      return start(defaults, input, options);
    },
  };
}

/** Checks an agent where it is defined, not where one of its stored runs is later driven. */
export function checkAgentConfig(config: AgentConfig): void {
  const { name } = config ?? {};
  checkName('agent', name);
  checkOptions(`the agent ${name}`, config, AGENT_OPTIONS);
}

const AGENT_OPTIONS: OptionTable<AgentConfig> = {
  // With a `runId`, a sub-agent would continue another run, and its root would wait for nothing.
  ...without(
    GENERATE_OPTIONS,
    'prompt',
    'messages',
    'resume',
    'toolResponses',
    'abortSignal',
    'runId',
    'onChunk',
    'returnToolRequests',
  ),
  name: anything,
  description: anything,
  suggestions: someStrings,
  inputSchema: anything,
  toPrompt: anything,
};
const START_OPTIONS: OptionTable<StartOptions> = { runId: anything, context: aContext, by: aStringOrNull };

/** A stored run may continue in any process, so its settings belong to its agent. */
function refuseFixed(agent: string, options: GenerateOptions): void {
  refuseMessages(options);
  const given = FIXED.filter((key) => options[key] !== undefined);
  if (given.length === 0) return;
  const message = `A stored run uses the settings of its agent. Set ${given.join(', ')} where ${agent} is defined.`;
  throw new UsageError('invalid-options', { agent, options: given }, message);
}

const FIXED = [
  'model',
  'tools',
  'toolChoice',
  'config',
  'maxTurns',
  'returnToolRequests',
  'onToolError',
  'onEvent',
] as const satisfies readonly (keyof GenerateOptions)[];

const DEFAULT_INPUT = {
  type: 'object',
  properties: { prompt: { type: 'string', description: 'What the agent is asked to do, with all it needs to know.' } },
  required: ['prompt'],
} as const;

function agentTool(
  { name, description, inputSchema, toPrompt, output }: AgentConfig,
  run: Generate,
  innerTools: NonNullable<ToolDefinition['innerTools']>,
): ToolDefinition {
  const input = asSchema(inputSchema ?? DEFAULT_INPUT, `the inputSchema of agent ${name}`);
  return {
    name,
    input,
    output: ANYTHING,
    spec: () => ({ name, description: description ?? `Asks the agent ${name}.`, inputSchema: input.json() }),
    needsApproval: false,
    idempotent: false,
    commits: false,
    asks: {},
    metadata: {},
    innerTools,
    async body(value, ctx, subAgent) {
      const response = await continueSubAgent(run, ctx, subAgent, () => (toPrompt ?? defaultPrompt)(value));
      if (response.finishReason === 'aborted') throw new HeldSignal(response.messages, subAgent.signal?.reason);
      if (response.interrupts.length > 0) ctx.interrupt(response);
      // A call in it is frozen. It continues once the freeze ends.
      if (response.finishReason === 'interrupted') throw new HeldSignal(response.messages, undefined);
      if (response.finishReason === 'max-turns')
        throw new Error(`The agent ${name} reached its turn limit without an answer.`);
      // A reply that was cut short or blocked is not an output.
      if (output && response.finishReason !== 'stop')
        throw new Error(`The agent ${name} gave no output: its last reply ended with ${response.finishReason}.`);
      return output ? response.output : response.text;
    },
  };
}

async function continueSubAgent(
  run: Generate,
  ctx: ToolContext,
  subAgent: SubAgentContext,
  prompt: () => string,
): Promise<GenerateResponse> {
  const { ref, record, outer, signal, emit } = subAgent;
  const resumed = continuationOf(ctx.resumed);
  const hasBegun = record?.past !== undefined || resumed !== undefined;
  try {
    return await run(
      {
        ...(hasBegun ? { ...resumed, ...(record?.begun && { resume: {} }) } : { prompt: prompt() }),
        context: ctx.context,
        ...(signal && { abortSignal: signal }),
        ...(emit && { onChunk: (chunk: Chunk) => emit(fromSubAgent(chunk, ref)) }),
      },
      record,
      outer,
    );
  } catch (error) {
    if (error instanceof CountersignError && error.messages) throw new HeldSignal(error.messages, error);
    // A conversation that has begun is not over just because it cannot continue here.
    if (hasBegun && !isOwn(error)) throw new HeldSignal(resumed?.messages ?? [], error);
    throw error;
  }
}

/** The call handles these itself: that it was left or lost, or a decision that does not fit. */
function isOwn(error: unknown): boolean {
  if (error instanceof LostSignal || error instanceof LeftSignal) return true;
  return error instanceof CountersignError && (error.code === 'invalid-resume' || error.code === 'already-decided');
}

/** Adds the path to a chunk, so that its request can be decided at the root. */
function fromSubAgent(chunk: Chunk, ref: string): Chunk {
  const path = [ref, ...(chunk.path ?? [])];
  if (chunk.type !== 'interrupt') return { ...chunk, path };
  const interrupt = { ...chunk.interrupt, metadata: { ...chunk.interrupt.metadata, path } };
  return { ...chunk, path, interrupt, content: [interrupt] };
}

/** Reads the conversation to continue; undefined if a person resumed with something else, even with messages. */
function continuationOf(resumed: unknown): Pick<Continuation, 'messages' | 'resume'> | undefined {
  return resumed instanceof Continuation ? { ...resumed, messages: withoutLastWord(resumed.messages) } : undefined;
}

/** Drops an unusable last reply, such as an invalid output: models do not accept their own message as the last. */
function withoutLastWord(messages: readonly Message[]): readonly Message[] {
  const last = messages.at(-1);
  return last?.role === 'model' && !last.content.some(isToolRequest) ? messages.slice(0, -1) : messages;
}

function defaultPrompt(input: unknown): string {
  const { prompt } = (input ?? {}) as { prompt?: unknown };
  return typeof prompt === 'string' ? prompt : JSON.stringify(input);
}
