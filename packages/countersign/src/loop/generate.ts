// `generate`: from options to a response, through the one loop.

import { type DecisionPart, type Resume, VERBS } from '../core/decide.ts';
import { CountersignError, messageOf, ProviderError, UsageError, withMessages } from '../core/errors.ts';
import { event } from '../core/event.ts';
import { loadMessages } from '../core/history.ts';
import { isObject } from '../core/json.ts';
import { type Message, type Part, textOf } from '../core/message.ts';
import type { State } from '../core/state.ts';
import type { ModelConfig, ToolChoice } from '../models/model.ts';
import { type ModelInput, type Providers, resolveModel } from '../models/resolve.ts';
import { type RetryPolicy, withRetries } from '../models/retry.ts';
import type { Chunk } from './chunk.ts';
import { ChunkStream } from './chunk-stream.ts';
import { drive } from './drive.ts';
import { readOutput } from './output.ts';
import { GenerateResponse, messagesOf } from './response.ts';
import { applyDecisions, cancelOpenCalls, checkResume } from './resume.ts';
import { type Driver, Run } from './run.ts';
import { asSchema, type InferOutput, type Schema, type SchemaInput } from './schema.ts';
import type { Context, ToolDefinition } from './tool.ts';
import { findTools, refuseCircles, type ToolInput } from './toolbox.ts';

/** What somebody says: a text, a part or several. */
export type Content = string | Part | readonly Part[];

/** The options of `generate`. */
export type GenerateOptions<O extends SchemaInput = any> = {
  /** In place of the model of the instance. */
  readonly model?: ModelInput;
  /** The system message of the conversation; it takes the place of one that `messages` begins with. */
  readonly system?: Content;
  /** What the user says now, after `messages`. */
  readonly prompt?: Content;
  /** The conversation so far, such as the `messages` of an earlier response. Never changed. */
  readonly messages?: readonly Message[];
  /** What the model may call. Pass the same tools again to resume. */
  readonly tools?: readonly ToolInput[];
  readonly toolChoice?: ToolChoice;
  /** The decisions on what is pending in `messages`; single ones or lists. What is not decided stays pending. */
  readonly resume?: Resume;
  /** Answers, as `resume.respond`. */
  readonly toolResponses?: DecisionPart | readonly DecisionPart[];
  /** The final reply must be JSON that fits this schema. */
  readonly output?: { readonly schema: O };
  /** Settings of the model, such as `temperature`. */
  readonly config?: ModelConfig;
  /** Who is asking: reaches tools and gates, and is never stored in messages. */
  readonly context?: Context;
  /** Replies of the model since the user last spoke, pauses included; then the run ends with `max-turns`. */
  readonly maxTurns?: number;
  /** Stops the run: the response has `finishReason: 'aborted'` and the messages to go on from. */
  readonly abortSignal?: AbortSignal;
  /** Hears of everything as it happens. */
  readonly onChunk?: (chunk: Chunk) => void;
  /** Hands the model's calls out instead of running them. */
  readonly returnToolRequests?: boolean;
  /** `tell` (the default): a tool that throws is a result for the model. `throw`: it ends the call. */
  readonly onToolError?: 'tell' | 'throw';
  /** What happens to pending calls when the user speaks: withdraw them (the default), keep both, or refuse. */
  readonly whilePending?: 'cancel' | 'queue' | 'refuse';
};

/** What an instance brings to each `generate`. */
export type Settings = {
  readonly model?: ModelInput;
  readonly providers: Providers;
  readonly context?: Context;
  readonly maxTurns: number;
  readonly retry: RetryPolicy | false;
  readonly tools: ReadonlyMap<string, ToolDefinition>;
  readonly newId: () => string;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly random: () => number;
};

export async function generate<O extends SchemaInput = any>(
  settings: Settings,
  given: string | GenerateOptions<O>,
): Promise<GenerateResponse<InferOutput<O>>> {
  const options = checkOptions(given);
  const schema = options.output && asSchema(options.output.schema, 'output.schema');
  const driver = prepareDriver(settings, options, schema);
  const { state, spoken } = loadMessages(withSystem(options));
  const decisions = await checkResume(state, resumeOf(options), driver.tools, settings.tools);
  const says = [
    ...spoken,
    ...(options.prompt === undefined ? [] : [{ role: 'user' as const, content: partsOf(options.prompt, 'prompt') }]),
  ];
  if (state.history.length === 0 && !state.turn && says.length === 0)
    throw new UsageError('invalid-options', {}, 'There is nothing to generate from. Pass `prompt` or `messages`.');

  const run = new Run(state, driver);
  applyDecisions(run, decisions, options.resume?.metadata);
  hear(run, says, options.whilePending ?? 'cancel', new Set(decisions.map(({ call }) => call.id)));
  refuseMissingTools(run.state, driver.tools);
  try {
    await drive(run, driver);
  } catch (error) {
    throw interrupted(error, run);
  } finally {
    run.close();
  }
  const [failure] = run.failures;
  if (failure) throw callFailed(failure, run);
  return new GenerateResponse(run.state, run.usage, await readOutput(run.state, schema, () => messagesOf(run.state)));
}

/** A generation with its stream. */
export type GenerateStream<Output = any> = {
  /** What happens, as it happens; for one reader. It need not be read. */
  readonly stream: AsyncIterableIterator<Chunk>;
  readonly response: Promise<GenerateResponse<Output>>;
};

export function generateStream<O extends SchemaInput = any>(
  settings: Settings,
  given: string | GenerateOptions<O>,
): GenerateStream<InferOutput<O>> {
  return streamed(given, (options) => generate(settings, options));
}

/** Any generation, with its chunks as a stream. */
export function streamed<Options extends { readonly onChunk?: (chunk: Chunk) => void }, Output>(
  given: string | Options,
  start: (options: Options) => Promise<GenerateResponse<Output>>,
): GenerateStream<Output> {
  const options = (typeof given === 'string' ? { prompt: given } : given) as Options;
  const stream = new ChunkStream();
  const { onChunk } = options;
  const response = start({
    ...options,
    onChunk: (chunk: Chunk) => {
      stream.push(chunk);
      onChunk?.(chunk);
    },
  });
  // The reader of the stream hears of a failure as well; whoever reads only the stream need not handle it twice.
  response.then(
    () => stream.end(),
    (error) => stream.end({ error }),
  );
  return { stream, response };
}

function checkOptions<O extends SchemaInput>(given: string | GenerateOptions<O>): GenerateOptions<O> {
  const options = typeof given === 'string' ? { prompt: given } : given;
  if (!isObject(options))
    throw new UsageError(
      'invalid-options',
      { given: typeof given },
      '`generate` takes a prompt or an object of options.',
    );
  const { maxTurns } = options;
  if (maxTurns !== undefined && !(Number.isInteger(maxTurns) && maxTurns > 0))
    throw new UsageError(
      'invalid-options',
      { maxTurns },
      `maxTurns must be a whole number from 1, not ${String(maxTurns)}.`,
    );
  return options as GenerateOptions<O>;
}

function prepareDriver(settings: Settings, options: GenerateOptions, schema: Schema | undefined): Driver {
  const tools = findTools(options.tools, settings.tools);
  refuseCircles(tools, []);
  const model = resolveModel(options.model ?? settings.model, settings.providers);
  const { toolChoice = 'auto', config, abortSignal, onChunk } = options;
  if (typeof toolChoice === 'object' && !tools.has(toolChoice.tool))
    throw new UsageError(
      'unknown-tool',
      { tool: toolChoice.tool },
      `toolChoice names ${toolChoice.tool}, which is not among the tools.`,
    );
  return {
    model: settings.retry ? withRetries(model, settings.retry, settings.sleep, settings.random) : model,
    tools,
    specs: [...tools.values()].map((tool) => tool.spec()),
    toolChoice,
    config: config ?? {},
    ...(schema && { outputSchema: schema.json() }),
    context: options.context ?? settings.context ?? {},
    limits: {
      maxTurns: options.maxTurns ?? settings.maxTurns,
      ...(options.returnToolRequests && { holdCalls: true }),
    },
    ...(abortSignal && { signal: abortSignal }),
    ...(onChunk && { emit: guarded(onChunk) }),
    newId: settings.newId,
    onToolError: options.onToolError ?? 'tell',
  };
}

/** What a person has let run waits until its tool is there again; it is neither dropped nor told as a mistake. */
function refuseMissingTools(state: State, tools: ReadonlyMap<string, ToolDefinition>): void {
  const missing = state.turn?.calls.filter((call) => call.phase.at === 'cleared' && !tools.has(call.name)) ?? [];
  if (missing.length === 0) return;
  const names = missing.map((call) => `${call.name} (${call.ref})`).join(', ');
  const details = { tools: missing.map((call) => call.name) };
  throw new UsageError(
    'unknown-tool',
    details,
    `A person decided that ${names} runs, but it is not among the tools of this call.`,
  );
}

/** A listener that throws is not called again: a dead reader must not hurt the run. */
function guarded(listen: (chunk: Chunk) => void): (chunk: Chunk) => void {
  let listening = true;
  return (chunk) => {
    if (!listening) return;
    try {
      listen(chunk);
    } catch {
      // Its author hears of nothing more; there is nobody here to tell.
      listening = false;
    }
  };
}

function withSystem({ messages = [], system }: GenerateOptions): readonly Message[] {
  if (system === undefined || !Array.isArray(messages)) return messages;
  const content = partsOf(system, 'system');
  const [first, ...rest] = messages;
  if (first?.role !== 'system') return [{ role: 'system', content }, ...messages];
  return textOf(first.content) === textOf(content) ? messages : [{ role: 'system', content }, ...rest];
}

function partsOf(content: Content, where: string): readonly Part[] {
  if (typeof content === 'string') return [{ text: content }];
  const parts = Array.isArray(content) ? (content as readonly Part[]) : [content as Part];
  if (parts.length > 0 && parts.every(isObject)) return parts;
  throw new UsageError('invalid-options', { option: where }, `\`${where}\` must be a text, a part or a list of parts.`);
}

function resumeOf({ resume = {}, toolResponses }: GenerateOptions): Resume {
  if (!isObject(resume))
    throw new UsageError(
      'invalid-options',
      {},
      '`resume` must be an object with respond, restart, approve, reject or cancel.',
    );
  if ('toolRequest' in resume || 'toolResponse' in resume)
    throw new UsageError(
      'invalid-options',
      {},
      '`resume` was given a decision itself; write resume: { respond: … } or the like.',
    );
  const unknown = Object.keys(resume).filter(
    (key) => key !== 'metadata' && !(VERBS as readonly string[]).includes(key),
  );
  if (unknown.length > 0)
    throw new UsageError(
      'invalid-resume',
      { unknown },
      `\`resume\` has ${unknown.join(', ')}, which is no decision; there are ${VERBS.join(', ')}. Nothing ran.`,
    );
  if (toolResponses === undefined) return resume;
  const more = Array.isArray(toolResponses)
    ? (toolResponses as readonly DecisionPart[])
    : [toolResponses as DecisionPart];
  const { respond = [] } = resume as Resume;
  return {
    ...resume,
    respond: [...(Array.isArray(respond) ? (respond as readonly DecisionPart[]) : [respond as DecisionPart]), ...more],
  };
}

/** What the user says while decisions are pending. */
function hear(
  run: Run,
  says: readonly Message[],
  whilePending: 'cancel' | 'queue' | 'refuse',
  decidedNow: ReadonlySet<string>,
): void {
  if (says.length === 0) return;
  const { turn } = run.state;
  const undecided = turn?.calls.filter((call) => call.phase.at !== 'settled' && call.phase.at !== 'cleared') ?? [];
  if (undecided.length > 0 && whilePending === 'refuse') {
    const names = undecided.map((call) => `${call.name} (${call.ref})`).join(', ');
    throw new UsageError(
      'decision-pending',
      { pending: undecided.map((call) => call.ref) },
      `Decide ${names} before the user speaks again.`,
    );
  }
  if (whilePending === 'cancel') cancelOpenCalls(run, decidedNow);
  run.record(event({ type: 'user-spoke', messages: says }));
}

/** Whatever ended the run, what was said and done before stays said and done. */
function interrupted(error: unknown, run: Run): CountersignError {
  const messages = messagesOf(run.state);
  if (error instanceof CountersignError) return withMessages(error, messages);
  const details = { messages };
  return new ProviderError('provider-failed', details, `The model failed: ${messageOf(error)}`, {
    cause: error,
    retryable: false,
  });
}

/** The outer conversation keeps what the inner one had done. */
function callFailed({ call, error }: Run['failures'][number], run: Run): CountersignError {
  if (error instanceof CountersignError) return interrupted(error, run);
  const details = { tool: call.name, ref: call.ref, messages: messagesOf(run.state) };
  const message = `The tool ${call.name} (${call.ref}) failed: ${messageOf(error)}`;
  return new UsageError('tool-failed', details, message, { cause: error });
}
