// `generate`: from options to a response, through the one loop.

import type { State } from '../core/call.ts';
import { CountersignError, messageOf, ProviderError, UsageError, withMessages } from '../core/errors.ts';
import { event } from '../core/event.ts';
import { GrowList } from '../core/grow.ts';
import type { Message, ToolRequestPart } from '../core/message.ts';
import { type Loaded, loadMessages, messagesOf } from '../core/messages/load-messages.ts';
import { type Limits, next } from '../core/next.ts';
import { guarded } from './call/guarded.ts';
import { drive } from './drive.ts';
import {
  decisionsOf,
  type GenerateOptions,
  partsOf,
  prepareDriver,
  readOptions,
  type Settings,
  withSystem,
} from './options.ts';
import { readOutput } from './output.ts';
import { GenerateResponse } from './response.ts';
import { applyDecisions, cancelOpenCalls, checkResume } from './resume.ts';
import type { Driver, Run } from './run.ts';
import type { SubAgentRecord } from './sink.ts';
import { StatelessRun } from './stateless-run.ts';
import { StoredRun } from './stored-run.ts';
import type { Chunk } from './stream/chunk.ts';
import { ChunkStream } from './stream/chunk-stream.ts';
import type { ToolDefinition } from './tool/definition.ts';
import { asSchema, type InferOutput, type SchemaInput } from './tool/schema.ts';
import { LeftSignal, LostSignal } from './tool/signal.ts';

/** With `within`, it is a conversation inside a call of a stored run, and goes on from what is on record of it. */
export async function generate<O extends SchemaInput = any, Interrupt extends ToolRequestPart = ToolRequestPart>(
  settings: Settings,
  given: string | GenerateOptions<O>,
  within?: SubAgentRecord,
): Promise<GenerateResponse<InferOutput<O>, Interrupt>> {
  const options = readOptions(given);
  const schema = options.output && asSchema(options.output.schema, 'output.schema');
  const driver = driverWithin(prepareDriver(settings, options, schema, within ? 'leave-out' : 'refuse'), within);
  const { state, spoken, storedIn } = within?.past ? recorded(within.past, options) : loadMessages(withSystem(options));
  // Inside a stored run, whether a decision fits was looked at before it was recorded.
  const known = within ? undefined : { tools: driver.tools, defined: settings.tools };
  const resume = decisionsOf(options);
  const { matched: decisions } = await checkResume(state, resume, known);
  const says = [...spoken, ...promptOf(options)];
  const { whilePending = 'cancel' } = options;
  // Whoever only says something withdraws what is open, so that none of it can run here.
  const goesOn = decisions.length > 0 || says.length === 0 || whilePending !== 'cancel';
  if (storedIn !== undefined && goesOn) throw goesOnInStore(storedIn);
  if (state.history.length === 0 && !state.turn && says.length === 0)
    throw new UsageError('invalid-options', {}, 'There is nothing to generate from. Pass `prompt` or `messages`.');

  const run = within ? new StoredRun(state, within.sink, driver) : new StatelessRun(state, driver);
  run.onLate = within?.late;
  applyDecisions(run, decisions, resume.metadata);
  hear(run, says, whilePending, new Set(decisions.map(({ call }) => call.id)));
  if (!within) refuseMissingTools(run.state, driver.tools);
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
  return new GenerateResponse(run.state, run.usage, await readOutput(run.state, schema, () => messagesOf(run.state)));
}

/** What is on record of a conversation, with the system message that it has now. */
function recorded(state: State, { system }: GenerateOptions): Loaded {
  const { ended, ...rest } = state;
  const messages = state.history.toArray();
  const told = withSystem({ messages, ...(system !== undefined && { system }) });
  // Whoever stopped it is gone, and it goes on.
  const goesOn = ended && ended.reason !== 'aborted' ? state : rest;
  return { state: told === messages ? goesOn : { ...goesOn, history: GrowList.of(told) }, spoken: [] };
}

/** The store knows nothing of what runs here: decided there as well, a call would run twice. */
function goesOnInStore(runId: string): UsageError {
  const message = `These messages are of the stored run ${runId}, in which calls are open. Go on with it there: with \`runs.decide(…)\`, or with \`generate({ runId: '${runId}', … })\` of its agent. Decided here as well, a call would run twice.`;
  return new UsageError('invalid-options', { runId }, message);
}

function promptOf({ prompt }: GenerateOptions): readonly Message[] {
  return prompt === undefined ? [] : [{ role: 'user', content: partsOf(prompt, 'prompt') }];
}

/** Inside a stored run it is that run's clock that counts, and whoever stops the run stops it. */
function driverWithin(driver: Driver, within: SubAgentRecord | undefined): Driver {
  if (!within) return driver;
  const { clock, worker } = within;
  return { ...driver, clock, ...(worker && { worker }) };
}

function rests(state: State, limits: Limits): boolean {
  const step = next(state, limits).do;
  return step === 'wait' || step === 'finish';
}

/** A generation with its stream. */
export type GenerateStream<Output = any, Interrupt extends ToolRequestPart = ToolRequestPart> = {
  /** What happens, as it happens; for one reader. It need not be read. */
  readonly stream: AsyncIterableIterator<Chunk>;
  readonly response: Promise<GenerateResponse<Output, Interrupt>>;
};

/** Any generation, with its chunks as a stream. */
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
  // What is no object of options is refused where it is looked at.
  const onChunk = options?.onChunk && guarded(options.onChunk);
  const hear = (chunk: Chunk): void => {
    stream.push(chunk);
    onChunk?.(chunk);
  };
  const response = start({ ...options, onChunk: hear });
  // The reader of the stream hears of a failure as well; whoever reads only the stream need not handle it twice.
  response.then(
    () => stream.end(),
    (error) => stream.end({ error }),
  );
  return { stream, response };
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

/** What the user says while decisions are pending; it does not withdraw what is in `kept`. `by` is who the user is. */
export function hear(
  run: Run,
  says: readonly Message[],
  whilePending: 'cancel' | 'queue' | 'refuse',
  kept: ReadonlySet<string>,
  by?: string,
): void {
  if (says.length === 0) return;
  const { turn } = run.state;
  const undecided = turn?.calls.filter((call) => run.isUndecided(call)) ?? [];
  if (undecided.length > 0 && whilePending === 'refuse') {
    const names = undecided.map((call) => `${call.name} (${call.ref})`).join(', ');
    throw new UsageError(
      'decision-pending',
      { pending: undecided.map((call) => call.ref) },
      `Decide ${names} before the user speaks again.`,
    );
  }
  if (whilePending === 'cancel') cancelOpenCalls(run, kept, by);
  run.record(event({ type: 'user-spoke', messages: says }));
}

/** Whatever ended the run, what was said and done before stays said and done. */
export function interrupted(error: unknown, run: Run): CountersignError {
  const messages = messagesOf(run.state);
  if (error instanceof CountersignError) return withMessages(error, messages);
  const details = { messages };
  return new ProviderError('provider-failed', details, `The model failed: ${messageOf(error)}`, {
    cause: error,
    retryable: false,
  });
}

/** The outer conversation keeps what the inner one had done. */
export function callFailed({ call, error }: Run['failures'][number], run: Run): CountersignError {
  if (error instanceof CountersignError) return interrupted(error, run);
  const details = { tool: call.name, ref: call.ref, messages: messagesOf(run.state) };
  const message = `The tool ${call.name} (${call.ref}) failed: ${messageOf(error)}`;
  return new UsageError('tool-failed', details, message, { cause: error });
}
