// `generate`: from options to a response, through the one loop.

import { CountersignError, messageOf, ProviderError, UsageError, withMessages } from '../core/errors.ts';
import { defined } from '../core/json.ts';
import { type Loaded, loadMessages, messagesOf } from '../core/messages/load-messages.ts';
import type { Message, ToolRequestPart } from '../core/messages/message.ts';
import type { Outer } from '../core/origin/search.ts';
import type { State } from '../core/run/call.ts';
import { findDecided, matchedOf } from '../core/run/decide.ts';
import { event } from '../core/run/event.ts';
import { GrowList } from '../core/run/grow.ts';
import { NO_DECISIONS } from '../core/run/made.ts';
import { type Limits, next } from '../core/run/next.ts';
import { guarded } from './call/guarded.ts';
import { drive } from './drive.ts';
import {
  decisionsOf,
  type GenerateOptions,
  partsOf,
  prepareDriver,
  readOptions,
  type Settings,
  type WhilePending,
  withSystem,
} from './options.ts';
import { readOutput } from './output.ts';
import { GenerateResponse } from './response.ts';
import { applyDecisions, cancelOpenCalls, checkDecided, sound } from './resume.ts';
import { Run } from './run.ts';
import type { SubAgentRecord } from './sink.ts';
import { StoredRun } from './stored-run.ts';
import type { Chunk } from './stream/chunk.ts';
import { ChunkStream } from './stream/chunk-stream.ts';
import type { ToolDefinition } from './tool/definition.ts';
import { asSchema, type InferOutput, type SchemaInput } from './tool/schema.ts';
import { LeftSignal, LostSignal } from './tool/signal.ts';

/** Generates a response. With `subAgent`, it continues the recorded conversation of a sub-agent in a stored run. */
export async function generate<O extends SchemaInput = any, Interrupt extends ToolRequestPart = ToolRequestPart>(
  settings: Settings,
  given: string | GenerateOptions<O>,
  subAgent?: SubAgentRecord,
  outer?: Outer,
): Promise<GenerateResponse<InferOutput<O>, Interrupt>> {
  const options = readOptions(given);
  const schema = options.output && asSchema(options.output.schema, 'output.schema');
  const prepared = prepareDriver(settings, options, schema, subAgent ? 'leave-out' : 'refuse');
  // Inside a stored run, the clock, the stop signal, the grants and the people of that run apply.
  const { clock, worker, grants, asker } = subAgent ?? {};
  const inside = outer ? { ...prepared, outer, usesOrigins: true } : prepared;
  const driver = subAgent ? { ...inside, ...defined({ clock, worker, grants, asker }) } : inside;
  const { state, spoken, storedIn } = subAgent?.past
    ? recorded(subAgent.past, options)
    : loadMessages(withSystem(options));
  const resume = decisionsOf(options);
  const found = findDecided(state, resume);
  const known = { tools: driver.tools, defined: settings.tools, driver: resume.isCounted ? undefined : driver };
  // Inside a stored run, decisions were checked before they were recorded.
  const decisions = matchedOf(subAgent || found.leaves.length === 0 ? sound(found) : await checkDecided(found, known));
  const { prompt } = options;
  const says =
    prompt === undefined ? spoken : [...spoken, { role: 'user', content: partsOf(prompt, 'prompt') } as const];
  // Without a store nobody else can decide, so `auto` cancels.
  const { whilePending = 'auto' } = options;
  // A user who only speaks cancels the open calls, so that none of them can run here.
  const goesOn = decisions.length > 0 || says.length === 0 || whilePending === 'queue' || whilePending === 'refuse';
  if (storedIn !== undefined && goesOn) throw goesOnInStore(storedIn);
  if (state.history.length === 0 && !state.turn && says.length === 0)
    throw new UsageError('invalid-options', {}, 'Nothing to generate from. Pass `prompt` or `messages`.');

  const run = subAgent ? new StoredRun(state, subAgent.sink, driver) : new Run(state, driver);
  run.onLate = subAgent?.late;
  if (resume !== NO_DECISIONS) applyDecisions(run, decisions, resume.metadata);
  if (says.length > 0) hear(run, says, whilePending, new Set(decisions.map(({ call }) => call.id)));
  if (!subAgent) refuseMissingTools(run.state, driver.tools);
  try {
    await drive(run, driver);
    if (driver.worker?.isStopping() && !rests(run.state, driver.limits)) throw new LeftSignal();
  } catch (error) {
    if (error instanceof LostSignal || error instanceof LeftSignal) throw error;
    throw interrupted(error, run);
  } finally {
    run.close();
  }
  const [failure] = run.failures;
  if (failure) throw callFailed(failure, run);
  const output = schema ? await readOutput(run.state, schema, () => messagesOf(run.state)) : null;
  return new GenerateResponse(run.state, run.usage, output);
}

/** Returns the recorded conversation, with its current system message. */
function recorded(state: State, { system }: GenerateOptions): Loaded {
  const messages = state.history.toArray();
  const told = withSystem({ messages, ...(system !== undefined && { system }) });
  // The abort is over, so the conversation continues.
  const ended = state.ended?.reason === 'aborted' ? undefined : state.ended;
  const history = told === messages ? state.history : GrowList.of(told);
  return { state: { ...state, ended, history }, spoken: [] };
}

/** The store does not know about calls that run here: decided in both places, a call would run twice. */
function goesOnInStore(runId: string): UsageError {
  const message = `These messages belong to the stored run ${runId}, which has open calls. Continue it there, with \`runs.decide(…)\` or its agent's \`generate({ runId: '${runId}', … })\`. Decided here as well, a call would run twice.`;
  return new UsageError('invalid-options', { runId }, message);
}

function rests(state: State, limits: Limits): boolean {
  const step = next(state, limits).do;
  return step === 'wait' || step === 'finish';
}

/** A generation with its stream. */
export type GenerateStream<Output = any, Interrupt extends ToolRequestPart = ToolRequestPart> = {
  /** The chunks as they happen, for one reader. It may stay unread. */
  readonly stream: AsyncIterableIterator<Chunk>;
  readonly response: Promise<GenerateResponse<Output, Interrupt>>;
};

export function streamed<
  Options extends { readonly onChunk?: (chunk: Chunk) => void },
  Output,
  Interrupt extends ToolRequestPart,
>(
  given: string | Options,
  start: (options: Options) => Promise<GenerateResponse<Output, Interrupt>>,
): GenerateStream<Output, Interrupt> {
  const options = (typeof given === 'string' ? { prompt: given } : given) as Options;
  const stream = new ChunkStream();
  // `readOptions` refuses options that are not an object.
  const onChunk = options?.onChunk && guarded(options.onChunk);
  const hear = (chunk: Chunk): void => {
    stream.push(chunk);
    onChunk?.(chunk);
  };
  const response = start({ ...options, onChunk: hear });
  // The stream fails too, so a caller that reads only the stream handles the failure once.
  response.then(
    () => stream.end(),
    (error) => stream.end({ error }),
  );
  return { stream, response };
}

/** An approved call whose tool is missing waits for the tool; it is not dropped or reported as a mistake. */
function refuseMissingTools(state: State, tools: ReadonlyMap<string, ToolDefinition>): void {
  const missing = state.turn?.calls.filter((call) => call.phase.at === 'cleared' && !tools.has(call.name)) ?? [];
  if (missing.length === 0) return;
  const names = missing.map((call) => `${call.name} (${call.ref})`).join(', ');
  const details = { tools: missing.map((call) => call.name) };
  const message = `A person approved ${names}, but it is not among the tools of this call. Add it to \`tools\`.`;
  throw new UsageError('unknown-tool', details, message);
}

/** Records what the user says. `cancel` and `auto` cancel the pending calls, except those in `kept`. `by` identifies the user. */
export function hear(
  run: Run,
  says: readonly Message[],
  whilePending: WhilePending,
  kept: ReadonlySet<string>,
  by?: string,
): void {
  if (says.length === 0) return;
  const { turn } = run.state;
  const undecided = turn?.calls.filter((call) => run.isUndecided(call)) ?? [];
  if (undecided.length > 0 && whilePending === 'refuse') {
    const names = undecided.map((call) => `${call.name} (${call.ref})`).join(', ');
    const message = `Decide ${names} before the user speaks again.`;
    throw new UsageError('decision-pending', { pending: undecided.map((call) => call.ref) }, message);
  }
  if (whilePending === 'cancel' || whilePending === 'auto') cancelOpenCalls(run, kept, by);
  run.record(event({ type: 'user-spoke', messages: says, ...defined({ by }) }));
}

/** Wraps the failure that ended the run; the error carries the messages up to it. */
export function interrupted(error: unknown, run: Run): CountersignError {
  const messages = messagesOf(run.state);
  if (error instanceof CountersignError) return withMessages(error, messages);
  const details = { messages };
  return new ProviderError('provider-failed', details, `The model failed: ${messageOf(error)}`, {
    cause: error,
    retryable: false,
  });
}

/** Wraps the failure of a tool; the error carries the messages of the outer conversation. */
export function callFailed({ call, error }: Run['failures'][number], run: Run): CountersignError {
  if (error instanceof CountersignError) return interrupted(error, run);
  const details = { tool: call.name, ref: call.ref, messages: messagesOf(run.state) };
  const message = `The tool ${call.name} (${call.ref}) failed: ${messageOf(error)}`;
  return new UsageError('tool-failed', details, message, { cause: error });
}
