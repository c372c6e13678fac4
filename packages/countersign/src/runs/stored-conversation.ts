// Stored conversations: `generate` and `chat` of an agent with a `runId`, whose messages live in the store.
import { ConflictError, UsageError } from '../core/errors.ts';
import { messagesOf } from '../core/messages/load-messages.ts';
import { anything, checkOptions } from '../core/options.ts';
import { usageIn } from '../core/run/event.ts';
import type { Limits } from '../core/run/next.ts';
import type { State } from '../core/run/state.ts';
import { addUsage } from '../core/run/usage.ts';
import type { StartInput, StartOptions } from '../loop/agent.ts';
import { hear } from '../loop/generate.ts';
import { decisionsOf, type GenerateOptions, partsOf, readOptions, withSystem } from '../loop/options.ts';
import { readOutput } from '../loop/output.ts';
import { GenerateResponse } from '../loop/response.ts';
import type { Run } from '../loop/run.ts';
import { asSchema } from '../loop/tool/schema.ts';
import { untilAborted } from '../models/abort.ts';
import type { AgentPort } from './driving/open-run.ts';
import { errorOf } from './journal/outcome.ts';
import type { LiveRuns } from './live-runs.ts';
import { checkChain } from './port/chain.ts';
import { unknownRun } from './port/run-id.ts';
import type { LoadedRun } from './port/store.ts';
import { statusOf } from './requests/projection.ts';
import { errorIn, stateOf, stateOfRun } from './requests/view.ts';

/** Starts a run of the agent and drives it in this process. */
export async function startRun(
  runs: LiveRuns,
  agent: AgentPort,
  options: GenerateOptions,
  input: StartInput,
  start: StartOptions,
): Promise<{ readonly id: string }> {
  const given = typeof input === 'string' ? { prompt: input } : input;
  checkOptions('the input of `start`', given, { prompt: anything, messages: anything });
  const says = given.prompt === undefined ? [] : [{ role: 'user' as const, content: partsOf(given.prompt, 'prompt') }];
  const before = withSystem({ ...options, messages: given.messages ?? [] });
  const messages = Array.isArray(before) ? [...before, ...says] : before;
  if (messages.length === 0)
    throw new UsageError('invalid-options', {}, 'A run needs a prompt or messages to start from. Pass a prompt.');
  return runs.start(agent, messages, start);
}

/** Sends a message or decisions to a stored conversation, starts it if needed, and resolves once it pauses or ends. */
export async function converse(
  runs: LiveRuns,
  agent: AgentPort,
  options: GenerateOptions & { readonly runId: string },
): Promise<GenerateResponse> {
  readOptions(options);
  const { runId, prompt, context, by, onChunk, whilePending = 'auto', abortSignal } = options;
  const driving = { ...(context && { context }), ...(onChunk && { onChunk }), ...(by !== undefined && { by }) };
  const signal = abortSignal && { signal: abortSignal };
  const decisions = decisionsOf(options);
  const decides = decisions.made.length > 0 || decisions.faults.length > 0;
  // An abort does not wait for a silent store; a write in progress may still happen.
  const orLeft = <T>(work: Promise<T>): Promise<T> => untilAborted(work, abortSignal);
  abortSignal?.throwIfAborted();
  // Reads only the record of the run, no events.
  const found = await orLeft(runs.find(runId, { after: Number.MAX_SAFE_INTEGER }));
  if (found && found.run.agent !== agent.name) await orLeft(refuseForeign(runs, runId, agent.name));
  const begins = prompt !== undefined && !found && !decides;
  const start = { runId, ...driving };
  const begun = begins && (await orLeft(unlessExists(startRun(runs, agent, options, { prompt }, start))));
  const says = prompt !== undefined && [{ role: 'user' as const, content: partsOf(prompt, 'prompt') }];
  // The requests of a cancelled conversation can no longer be decided.
  const say =
    says &&
    ((run: Run, kept: ReadonlySet<string>) => hear(run, says, run.state.ended ? 'cancel' : whilePending, kept, by));
  // A message with a decision is as old as the decision: a doubt about the call may have been raised since.
  const seen = decides ? 0 : (found?.run.version ?? 0);
  const speaker = whilePending === 'auto' ? { by } : undefined;
  let said = begun;
  if (!begun && decides) {
    const decide = () => orLeft(runs.resume(runId, decisions, { ...driving, ...(say && { say, speaker }) }));
    said = await decide().catch(async (error: unknown) => {
      if (!(error instanceof UsageError) || error.code !== 'invalid-resume') throw error;
      // The request may be about to be asked.
      await runs.waited(runId, signal, driving);
      return decide();
    });
  }
  const speaking = { ...driving, ...signal, seen, speaker };
  const saidAt = say && !said ? await orLeft(runs.speak(runId, say, speaking)) : begun ? 0 : undefined;
  // Reading is useless while this process drives the run.
  await orLeft(runs.left(runId));
  // The worker may have died, and there may be no other: so this process drives the run if needed.
  const loaded = await runs.waited(runId, signal, driving);
  const whole = await stateOfRun(loaded);
  const answered = saidAt === undefined ? undefined : answeredTo(loaded, saidAt, agent.limits);
  const { state, events } = answered ?? { state: whole, events: loaded.events };
  const error = answered ? undefined : errorIn(loaded.run);
  if (error) throw errorOf(error, { runId, messages: messagesOf(state, runId) });
  const schema = options.output && asSchema(options.output.schema, 'output.schema');
  const output = await readOutput(state, schema, () => messagesOf(state, runId));
  const since = saidAt ?? found?.run.version ?? 0;
  const usage = events.slice(since).map(usageIn).reduce(addUsage, undefined);
  return new GenerateResponse(state, usage, output, runId);
}

/** The conversation right after the answer to this message, if it was answered before other messages followed. */
function answeredTo({ events: all }: LoadedRun, saidAt: number, limits: Limits): Shown | undefined {
  const [, next] = all.flatMap(({ type }, index) => (type === 'user-spoke' && index >= saidAt ? index : []));
  if (next === undefined) return undefined;
  const events = all.slice(0, next);
  const state = stateOf(events);
  return statusOf(state, limits) === 'done' ? { state, events } : undefined;
}

/** The part of a conversation that a response shows. */
type Shown = { readonly state: State; readonly events: LoadedRun['events'] };

/** Returns false if someone else started the conversation at the same time. */
async function unlessExists(starting: Promise<unknown>): Promise<boolean> {
  try {
    await starting;
    return true;
  } catch (error) {
    if (error instanceof ConflictError && error.code === 'run-exists') return false;
    throw error;
  }
}

/** Throws that the run belongs to another agent, or `tampered-run` if its agent was changed in the store. */
async function refuseForeign(runs: LiveRuns, runId: string, agent: string): Promise<never> {
  const loaded = await runs.find(runId);
  if (!loaded) throw unknownRun(runId);
  await checkChain(loaded);
  const { agent: owner } = loaded.run;
  const message = `Run ${runId} belongs to the agent ${owner}, not to ${agent}. Continue it with ${owner}.`;
  throw new UsageError('invalid-options', { runId, agent: owner }, message);
}
