// Stored conversations: an agent started, spoken to and decided through the store, without messages from the caller.
import { ConflictError, UsageError } from '../core/errors.ts';
import { refuseUnknownKeys } from '../core/known-keys.ts';
import { messagesOf } from '../core/messages/load-messages.ts';
import type { Limits } from '../core/next.ts';
import type { State } from '../core/state.ts';
import type { StartInput, StartOptions } from '../loop/agent.ts';
import { hear } from '../loop/generate.ts';
import { checkOptions, decisionsOf, type GenerateOptions, partsOf, withSystem } from '../loop/options.ts';
import { readOutput } from '../loop/output.ts';
import { GenerateResponse } from '../loop/response.ts';
import type { Run } from '../loop/run.ts';
import { asSchema } from '../loop/tool/schema.ts';
import { untilAborted } from '../models/abort.ts';
import type { AgentPort } from './driving/driving.ts';
import { errorOf } from './journal/outcome.ts';
import { checkChain } from './port/chain.ts';
import { unknownRun } from './port/run-id.ts';
import type { LoadedRun } from './port/store.ts';
import { statusOf } from './questions/projection.ts';
import { errorIn, stateOf, stateOfRun } from './questions/view.ts';
import type { Runs } from './runs.ts';

/** Starts a run of the agent; it is driven in this process. */
export async function startRun(
  runs: Runs,
  agent: AgentPort,
  options: GenerateOptions,
  input: StartInput,
  start: StartOptions,
): Promise<{ readonly id: string }> {
  const given = typeof input === 'string' ? { prompt: input } : input;
  refuseUnknownKeys('What a run starts with', given, INPUT_KEYS);
  const says = given.prompt === undefined ? [] : [{ role: 'user' as const, content: partsOf(given.prompt, 'prompt') }];
  const before = withSystem({ ...options, messages: given.messages ?? [] });
  const messages = Array.isArray(before) ? [...before, ...says] : before;
  if (messages.length === 0)
    throw new UsageError('invalid-options', {}, 'There is nothing to start from. Pass a prompt.');
  return runs.start(agent, messages, start);
}

const INPUT_KEYS = ['prompt', 'messages'];

/** Says or decides something in a stored conversation, begins it if need be, and gives the response once it rests. */
export async function converse(
  runs: Runs,
  agent: AgentPort,
  options: GenerateOptions & { readonly runId: string },
): Promise<GenerateResponse> {
  checkOptions(options);
  const {
    runId,
    prompt,
    context,
    by,
    onChunk,
    whilePending = 'cancel',
    abortSignal,
    resume = [],
    toolResponses,
  } = options;
  const driving = { ...(context && { context }), ...(onChunk && { onChunk }), ...(by !== undefined && { by }) };
  const signal = abortSignal && { signal: abortSignal };
  const { entries, faults } = decisionsOf(options);
  const decides = entries.length > 0 || faults.length > 0;
  // Whoever gives up waits for no store that is silent; what is being recorded then may be recorded all the same.
  const orLeft = <T>(work: Promise<T>): Promise<T> => untilAborted(work, abortSignal);
  abortSignal?.throwIfAborted();
  // Of what there is, no events are read for that.
  const found = await orLeft(runs.find(runId, { after: Number.MAX_SAFE_INTEGER }));
  if (found && found.run.agent !== agent.name) await orLeft(refuseForeign(runs, runId, agent.name));
  const begins = prompt !== undefined && !found && !decides;
  const start = { runId, ...driving };
  const begun = begins && (await orLeft(unlessExists(startRun(runs, agent, options, { prompt }, start))));
  const says = prompt !== undefined && [{ role: 'user' as const, content: partsOf(prompt, 'prompt') }];
  // Of what waited in a conversation that was cancelled, nothing can be decided any more.
  const say =
    says &&
    ((run: Run, kept: ReadonlySet<string>) => hear(run, says, run.state.ended ? 'cancel' : whilePending, kept, by));
  // With a decision, what is said is as old as that: what became of the call may be asked by now.
  const seen = decides ? 0 : (found?.run.version ?? 0);
  let said = begun;
  if (!begun && decides) {
    const decide = () => orLeft(runs.resume(runId, resume, { ...driving, toolResponses, ...(say && { say }) }));
    said = await decide().catch(async (error: unknown) => {
      if (!(error instanceof UsageError) || error.code !== 'invalid-resume') throw error;
      // It may be about to be asked.
      await runs.waited(runId, signal, driving);
      return decide();
    });
  }
  const speaking = { ...driving, ...signal, seen };
  const saidAt = say && !said ? await orLeft(runs.speak(runId, say, speaking)) : begun ? 0 : undefined;
  // While this process drives it, there is nothing to read.
  await orLeft(runs.left(runId));
  // Its claim may have lapsed, or be that of a process that died: there may be no worker.
  const loaded = await runs.waited(runId, signal, driving);
  const whole = stateOfRun(loaded);
  const answered = saidAt === undefined ? undefined : answeredTo(loaded, saidAt, agent.limits);
  const state = answered ?? whole;
  const error = answered ? undefined : errorIn(loaded.run);
  if (error) throw errorOf(error, { runId, messages: messagesOf(state, runId) });
  const schema = options.output && asSchema(options.output.schema, 'output.schema');
  const output = await readOutput(state, schema, () => messagesOf(state, runId));
  return new GenerateResponse(state, undefined, output, runId);
}

/**
 * The conversation when what was said then had been answered, where others have spoken since: theirs are other answers.
 * Undefined if nobody has, or it was not answered before.
 */
function answeredTo({ events }: LoadedRun, saidAt: number, limits: Limits): State | undefined {
  const [, next] = events.flatMap(({ type }, index) => (type === 'user-spoke' && index >= saidAt ? index : []));
  if (next === undefined) return undefined;
  const state = stateOf(events.slice(0, next));
  return statusOf(state, limits) === 'done' ? state : undefined;
}

/** False if somebody else began the conversation in the same moment. */
async function unlessExists(starting: Promise<unknown>): Promise<boolean> {
  try {
    await starting;
    return true;
  } catch (error) {
    if (error instanceof ConflictError && error.code === 'run-exists') return false;
    throw error;
  }
}

/** If somebody has changed whose run it is, that is what is said. */
async function refuseForeign(runs: Runs, runId: string, agent: string): Promise<never> {
  const loaded = await runs.find(runId);
  if (!loaded) throw unknownRun(runId);
  checkChain(loaded);
  const { agent: owner } = loaded.run;
  const message = `Run ${runId} is one of the agent ${owner}, not of ${agent}. Go on with it through ${owner}.`;
  throw new UsageError('invalid-options', { runId, agent: owner }, message);
}
