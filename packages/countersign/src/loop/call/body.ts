// The body of a call: record its start, run it, record its result.

import { stepsIn } from '../../core/authority/grants/plan.ts';
import { CountersignError, messageOf, NotPerformed, OutcomeUnknown } from '../../core/errors.ts';
import { copyOf, type Json } from '../../core/json.ts';
import type { Message } from '../../core/messages/message.ts';
import { pendingParts } from '../../core/messages/pending-parts.ts';
import type { Call } from '../../core/run/call.ts';
import { event, type Result } from '../../core/run/event.ts';
import type { Driver, Run } from '../run.ts';
import type { ToolDefinition } from '../tool/definition.ts';
import { HeldSignal, InterruptSignal, LeftSignal, LostSignal, rememberRequests } from '../tool/signal.ts';
import { bodyContext, subAgentContext } from './body-context.ts';
import { limitRules } from './judging/limits.ts';
import { holdSubAgent, pauseInBody, pauseSubAgent } from './pause.ts';
import { bodyResult, failedInBody, mayHaveStartedBefore, settle } from './result.ts';

/** Runs the body once its start is recorded, and records its result or its request. The call of an outside program waits for it. */
export async function runBody(
  run: Run,
  driver: Driver,
  tool: ToolDefinition,
  ready: Call,
  input: unknown,
): Promise<void> {
  if (run.isSuperseded(ready)) return;
  if (driver.limits.awaitCaller) return void run.record(event({ type: 'call-cleared', callId: ready.id }));
  const { caller } = driver;
  const body = tool.plan ? planBody(driver, tool.plan, ready) : (caller?.body ?? tool.body);
  const memory = rememberRequests(ready.name);
  const starting = run.start(tool, ready, driver);
  const isStarted = starting instanceof Promise ? await starting : starting;
  const call = isStarted === true ? run.begun(ready) : undefined;
  if (!call) return;
  if (caller?.host) return;
  // Before the body, which may change its copy. A request of a bound call is about what it is bound to.
  const boundInput = call.runsWith === undefined ? copyOf(input) : undefined;
  try {
    const unbegun: string[] = [];
    const ctx = bodyContext(run, driver, call, memory.interrupt, unbegun);
    const output = await body?.(input, ctx, subAgentContext(run, driver, call));
    const asked = memory.first();
    const [forgotten] = unbegun;
    if (asked) await pauseInBody(run, driver, tool, call, boundInput, asked);
    else if (forgotten !== undefined) recordFailure(run, driver, tool, call, new NotAwaited(forgotten));
    else {
      const result = bodyResult(tool, call, output);
      settle(run, call, result instanceof Promise ? await result : result);
    }
  } catch (error) {
    const asked = memory.first() ?? (error instanceof InterruptSignal ? { payload: error.payload } : undefined);
    if (asked) return pauseInBody(run, driver, tool, call, boundInput, asked);
    recordFailure(run, driver, tool, call, error);
  }
}

/** The approved steps become grants. The model gets the steps as people may have edited them. */
function planBody(
  { grants }: Driver,
  { validForMs, isOutside }: NonNullable<ToolDefinition['plan']>,
  { decided, ref }: Call,
) {
  return async (input: Json) => {
    const requestId = decided?.request?.id;
    if (!grants || requestId === undefined) throw new NotPerformed('A plan needs a decision in a store.');
    const steps = stepsIn(input);
    const until = await grants.givePlan({ requestId, ref, steps, validForMs, isOutside: isOutside === true });
    return { approved: steps, until: new Date(until).toISOString() };
  };
}

/** The body returned before one of its steps began, so that step will not run: its output does not count. */
class NotAwaited extends Error {
  constructor(step: string) {
    super(`It ended before its step ${step} had begun. Await each step.`);
  }
}

function recordFailure(run: Run, driver: Driver, tool: ToolDefinition, call: Call, error: unknown): void {
  if (error instanceof LostSignal || error instanceof LeftSignal) return;
  if (error instanceof HeldSignal) {
    holdSubAgent(run, call, error.messages);
    if (!driver.signal?.aborted && error.cause !== undefined) run.failures.push({ call, error: error.cause });
    return;
  }
  const waiting = refusedBySubAgent(run, call, error);
  if (waiting) {
    pauseSubAgent(run, call, waiting);
    run.failures.push({ call, error });
    return;
  }
  if (error instanceof NotPerformed) {
    const line = messageOf(error);
    if (mayHaveStartedBefore(tool, call))
      return settle(run, call, failedInBody(tool, call, `The tool ${call.name} failed: ${sentence(line)}`, line));
    const refused: Result = { type: 'error', text: `The tool ${call.name} did nothing: ${line}`, line };
    const isCounted = call.granted || limitRules(driver, tool).length > 0;
    return settle(run, call, isCounted ? { ...refused, notPerformed: true } : refused);
  }
  // An aborted body may or may not have acted: the call stays started and is in doubt.
  if (driver.signal?.aborted || (error instanceof OutcomeUnknown && !tool.idempotent)) return;
  const why = sentence(messageOf(error));
  settle(run, call, failedInBody(tool, call, `The tool ${call.name} failed: ${why}`, why));
  if (driver.onToolError === 'throw') run.failures.push({ call, error });
}

/** The messages of a sub-agent that refused a decision which only it could check, so that its requests still wait. */
function refusedBySubAgent(run: Run, call: Call, error: unknown): readonly Message[] | undefined {
  if (!(error instanceof CountersignError) || call.decided?.decision.type !== 'inside') return undefined;
  if (error.code !== 'invalid-resume' && error.code !== 'already-decided') return undefined;
  const before = (call.resumed?.value as { readonly messages?: readonly Message[] } | undefined)?.messages;
  const messages = error.messages ?? before;
  if (!messages || pendingParts(messages).length === 0) return undefined;
  return run.askAgain(messages, call);
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);
