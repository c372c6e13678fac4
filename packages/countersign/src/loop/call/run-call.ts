// One call, in three stages: may it run (the gate), run it (the body), and say what came of it.
import { type Call, callOf, interruptId, isOver } from '../../core/call.ts';
import { pendingParts } from '../../core/decide.ts';
import { CountersignError, messageOf, NotPerformed, readableError } from '../../core/errors.ts';
import { event, type InterruptKind, type Result, type RunEvent } from '../../core/event.ts';
import { copyOf, isObject, type Json, type JsonCheck, sameJson, toJson } from '../../core/json.ts';
import type { Message } from '../../core/message.ts';
import { askedAgain } from '../../core/sub-agents.ts';
import type { Driver, Run } from '../run.ts';
import { askOptionsOf, askProblem, unreadOption } from '../tool/ask-options.ts';
import {
  type AskOptions,
  HeldSignal,
  InterruptSignal,
  LeftSignal,
  LostSignal,
  rememberInterrupts,
} from '../tool/signal.ts';
import { type Approval, askGate, requestPayload, type ToolDefinition } from '../tool/tool.ts';
import { approvalContext, bodyContext, insideOf } from './body-context.ts';
import { type Bound, boundTo, runsWithOf, validInput } from './bound-input.ts';
import { changedKind, isUnasked } from './changed-tool.ts';
import { hasSettled, isHarmless, passesGate, toldLate } from './doubt.ts';

/** Never rejects: whatever happens to the call becomes a fact of the run. */
export async function runCall(run: Run, driver: Driver, call: Call): Promise<void> {
  const tool = driver.tools.get(call.name);
  if (!tool && waits(run, call))
    return unavailable(run, driver, tool, call, `There is no tool ${call.name} here any more.`);
  if (!tool) return settle(run, call, failed(unknownTool(call.name, driver)));
  const fresh = call.phase.at === 'open' && !call.phase.inner;
  const changed = fresh ? undefined : changedKind(tool, call);
  if (changed !== undefined) return unavailable(run, driver, tool, call, changed);
  try {
    const passed = fresh ? await askFirst(run, driver, tool, call) : call;
    if (passed === 'asked') return;
    const input = await validInput(tool, passed);
    if (!input.ok) return await unread(run, driver, tool, call, input.text);
    if (!fresh && isUnasked(tool, call) && (await gateAsks(run, driver, tool, call)) === 'asked') return;
    if (driver.signal?.aborted) return;
    await runBody(run, driver, tool, call, input.value);
  } catch (error) {
    const text = `The tool ${call.name} could not be run: ${messageOf(error)}`;
    // Its schema threw, as one that looks something up may. A person let it run: it waits as for one that does not take it.
    const isUnread = run.isStored && waits(run, call) && callOf(run.state, call.id)?.phase.at === call.phase.at;
    if (isUnread) unavailable(run, driver, tool, call, text);
    else settle(run, call, failed(text));
  }
}

/** What a person let run, or what has begun, waits for its tool; what nobody was asked about is told as a mistake. */
function waits({ isStored }: Run, { phase }: Call): boolean {
  return phase.at === 'cleared' || (isStored && phase.at === 'open' && phase.inner !== undefined);
}

/** Where it waits, with what the schema makes of the input now, if anything: that is what would run. */
async function unread(run: Run, driver: Driver, tool: ToolDefinition, call: Call, message: string): Promise<void> {
  if (!run.isStored || !waits(run, call)) return settle(run, call, failed(message));
  const { runsWith: _approved, ...asked } = call;
  const now = await validInput(tool, asked);
  unavailable(run, driver, tool, call, message, now.ok ? await runsWithOf(tool, asked, now.value) : {});
}

function unavailable(
  run: Run,
  driver: Driver,
  tool: ToolDefinition | undefined,
  call: Call,
  message: string,
  shown?: Bound,
): void {
  pause(run, driver, tool, call, 'unavailable', { message: `${message}${toldLate(call)}` }, keptOf(call), shown);
}

/** Whoever looks for what is urgent finds it also when it is asked about again. */
function keptOf({ decided }: Call): AskOptions {
  const { labels, risk } = decided?.interrupt ?? {};
  return { ...(labels && { labels }), ...(risk && { risk }) };
}

/** A call that was started and has no result. Running it again is for those who said that it is harmless. */
export async function settleDoubt(run: Run, driver: Driver, call: Call): Promise<void> {
  const known = driver.tools.get(call.name);
  const tool = known && changedKind(known, call) === undefined ? known : undefined;
  let found = '';
  let bound: Bound = call;
  try {
    const input = tool ? await validInput(tool, call) : undefined;
    if (tool && input?.ok) bound = await boundTo(tool, call, input.value);
    const mayRun = async (tool: ToolDefinition): Promise<boolean> => {
      const passes = await passesGate(tool, heldTo(call, bound), approvalContext(driver, call));
      if (!passes) found = NEEDS_APPROVAL;
      return passes;
    };
    if (tool && input?.ok && isHarmless(tool, call) && (await mayRun(tool)))
      return runBody(run, driver, tool, call, input.value);
    // Whoever looks it up has a reading of their own, and cannot change what runs.
    const looked = tool?.verify && input?.ok ? await validInput(tool, call) : undefined;
    if (tool?.verify && input?.ok && looked?.ok) {
      // Before the look-up: what it does not find may happen while it looks.
      const settled = hasSettled(tool, call, driver);
      const verified = await tool.verify(looked.value, { idempotencyKey: call.id, context: driver.context });
      // A look-up that found nothing and wraps that all the same has not found the call.
      if (isObject(verified) && verified.output !== undefined) {
        const result = await outputResult(tool, call, verified.output);
        return wasOvertaken(run, call) ? undefined : settle(run, call, result);
      }
      const isNothing = verified === undefined || verified === null;
      found = isNothing ? FOUND_NOTHING : ' A look-up gave something that is neither { output } nor undefined.';
      if (isNothing && settled && (await mayRun(tool))) return runBody(run, driver, tool, call, input.value);
    }
  } catch (error) {
    found = ` Looking it up failed: ${messageOf(error)}.`;
  }
  const message = `This call of ${call.name} was started, and nobody knows how it ended.${found}${toldLate(call)}`;
  pause(run, driver, known, call, 'unknown-outcome', { message }, keptOf(call), bound);
}

/** What came of it was recorded meanwhile, by who had started it: that stays. */
function wasOvertaken({ isStored, state }: Run, { id }: Call): boolean {
  return isStored && isOver(state, id);
}

const NEEDS_APPROVAL = ' It could be run again, but needs approval by now, which nobody gave.';

const FOUND_NOTHING = ' A look-up found no trace of it, which does not prove that it will not still happen.';

/**
 * `asked` when nothing is to run now: a person is asked first, or what they would be asked does not fit. Otherwise the call,
 * held to what its gate has seen.
 */
type Passed = 'asked' | Call;

/** A schema may make something else of the input each time. One that does not take what it makes cannot be held to it. */
function heldTo(call: Call, { runsWith = call.input, readAnew }: Bound): Call {
  return readAnew ? call : { ...call, runsWith };
}

async function askFirst(run: Run, driver: Driver, tool: ToolDefinition, call: Call): Promise<Passed> {
  if (tool.body) return tool.needsApproval === false ? call : gateAsks(run, driver, tool, call);
  const input = await validInput(tool, call);
  if (!input.ok) {
    settle(run, call, failed(input.text));
    return 'asked';
  }
  const payload = shown(await requestPayload(tool, input.value));
  if (payload.ok) pause(run, driver, tool, call, 'question', payload.value);
  else settle(run, call, failed(`The requestMetadata of ${call.name} is not JSON: ${payload.problem}.`));
  return 'asked';
}

/** The gate has a reading of its own, and cannot change what runs. */
async function gateAsks(run: Run, driver: Driver, tool: ToolDefinition, call: Call): Promise<Passed> {
  const input = await validInput(tool, call);
  if (!input.ok) {
    await unread(run, driver, tool, call, input.text);
    return 'asked';
  }
  // Before the gate, which may change what it is given.
  const bound = await runsWithOf(tool, call, input.value);
  const approval = await askGate(tool, input.value, approvalContext(driver, call));
  if (approval === false) return heldTo(call, bound);
  const options = approval === true ? {} : approval;
  pause(run, driver, tool, call, 'approval', approvalPayload(run, call, approval), options, bound);
  return 'asked';
}

/** The card tells of earlier calls of this tool that failed and may have taken effect. */
function approvalPayload(run: Run, call: Call, approval: Approval | true): Json {
  const earlier = run.state.mayHaveActed.filter((other) => other.name === call.name);
  const shown = toJson(approval);
  const payload: Json = shown.ok
    ? shown.value
    : { message: `What ${call.name} wanted to show is not JSON: ${shown.problem}.` };
  if (earlier.length === 0) return payload;
  const warnings = earlier.map(({ ref, text }) => ({ ref, message: text }));
  return isObject(payload) ? { ...payload, mayHaveActed: warnings } : { mayHaveActed: warnings };
}

async function runBody(run: Run, driver: Driver, tool: ToolDefinition, due: Call, input: unknown): Promise<void> {
  if (wasOvertaken(run, due)) return;
  const memory = rememberInterrupts(due.name);
  const said = {
    ...(recordsInside(run, tool) && { inside: true as const }),
    ...(tool.commits && { commits: true as const }),
  };
  const start = event({ type: 'call-started', callId: due.id, ...said });
  run.record(start);
  // Nobody may act on a start that is not on record, or after an end that is.
  if (run.isStored && (!(await isStarted(run, driver, tool, start)) || run.state.ended || !run.mayAct())) return;
  // What others decided meanwhile comes with it.
  const call = (run.isStored && callOf(run.state, due.id)) || due;
  // Before the body, which may change what it is given.
  const given = copyOf(input);
  try {
    const unbegun = new Set<string>();
    const ctx = bodyContext(run, driver, call, memory.interrupt, unbegun);
    const output = await tool.body?.(input, ctx, insideOf(run, driver, call));
    const asked = memory.first();
    const [forgotten] = unbegun;
    if (asked) await pauseInBody(run, driver, tool, call, given, asked);
    else if (forgotten !== undefined) threw(run, driver, tool, call, new NotAwaited(forgotten));
    else settle(run, call, await ranResult(tool, call, output));
  } catch (thrown) {
    const error = readableError(thrown);
    const asked = memory.first() ?? (error instanceof InterruptSignal ? { payload: error.payload } : undefined);
    if (asked) return pauseInBody(run, driver, tool, call, given, asked);
    threw(run, driver, tool, call, error);
  }
}

/** How long a start may take to be on record, and how often it is told. */
const START_MS = 1_000;
const MOST_STARTS = 10;

/**
 * True once the start is on record. `settlesWithin` counts from it: where the store was away for a while, it is told anew, so
 * that it is no older than the body. Where that does not succeed, the call does not run, and is in doubt.
 */
async function isStarted(
  run: Run,
  { clock = () => 0 }: Driver,
  { settlesWithin, idempotent }: ToolDefinition,
  start: RunEvent & { type: 'call-started' },
): Promise<boolean> {
  for (let starts = 1; ; starts++) {
    const at = clock();
    if (!(await run.isDurable())) return false;
    if (settlesWithin === undefined || idempotent || clock() - at <= START_MS) return true;
    if (starts === MOST_STARTS || isOver(run.state, start.callId) || run.state.ended || !run.mayAct()) return false;
    run.record(start);
  }
}

/** A step that begins after its call has its result does nothing: what the body returned does not count. */
class NotAwaited extends Error {
  constructor(step: string) {
    super(`It ended before its step ${step} had begun. Await each step.`);
  }
}

/**
 * The conversation inside refused a decision that only it could check. Where that is known, it says how far it came; where
 * it does not, nothing ran. Its questions still wait.
 */
function refusedInside({ isStored }: Run, call: Call, error: unknown): readonly Message[] | undefined {
  if (!(error instanceof CountersignError) || call.decided?.decision.type !== 'inside') return undefined;
  if (error.code !== 'invalid-resume' && error.code !== 'already-decided') return undefined;
  const before = (call.resumed?.value as { readonly messages?: readonly Message[] } | undefined)?.messages;
  const messages = error.messages ?? before;
  if (!messages || pendingParts(messages).length === 0) return undefined;
  // The store keeps each question once: one that is put again is another.
  return isStored ? askedAgain(messages, call) : messages;
}

function threw(run: Run, driver: Driver, tool: ToolDefinition, call: Call, error: unknown): void {
  if (error instanceof LostSignal || error instanceof LeftSignal) return;
  if (error instanceof HeldSignal) {
    run.record(event({ type: 'call-held', callId: call.id, ...innerOf(run, tool, error.messages) }));
    if (!driver.signal?.aborted) run.failures.push({ call, error: error.cause });
    return;
  }
  const inner = refusedInside(run, call, error);
  if (inner) {
    pauseInside(run, tool, call, inner);
    run.failures.push({ call, error });
    return;
  }
  if (error instanceof NotPerformed)
    return settle(run, call, failed(`The tool ${call.name} did nothing: ${messageOf(error)}`));
  // Stopped from outside, it may have acted or not: the call stays started, and whoever goes on asks.
  if (driver.signal?.aborted) return;
  settle(run, call, ranInVain(tool, call, `The tool ${call.name} failed: ${sentence(messageOf(error))}`));
  if (driver.onToolError === 'throw') run.failures.push({ call, error });
}

/** The body ran, and nobody knows how far: where a person lets it run, or had a say in it, the model is told. */
function ranInVain({ needsApproval }: ToolDefinition, { decided }: Call, text: string): Result {
  if (needsApproval === false && decided === undefined) return failed(text);
  return { type: 'error', text: `${text}${MAY_HAVE_ACTED}`, mayHaveActed: true };
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

const MAY_HAVE_ACTED =
  ' It may have taken effect all the same: do not assume that it did not, and do not repeat it without saying so.';

/** The body has returned: that its output cannot be checked does not undo what it did. */
function ranResult(tool: ToolDefinition, call: Call, output: unknown): Promise<Result> {
  return outputResult(tool, call, output).catch((error: unknown) =>
    ranBut(call, `its output could not be checked, as its schema threw: ${messageOf(error)}`),
  );
}

async function outputResult(tool: ToolDefinition, call: Call, output: unknown): Promise<Result> {
  const checking = tool.output.validate(output);
  const checked = checking instanceof Promise ? await checking : checking;
  if (!checked.ok)
    return ranBut(call, `returned an output that does not fit its schema: ${checked.problems.join('; ')}`);
  const json = toJson(checked.value);
  return json.ok
    ? { type: 'output', output: json.value }
    : ranBut(call, `returned an output that is not JSON: ${json.problem}`);
}

function ranBut(call: Call, problem: string): Result {
  return { type: 'error', text: `The tool ${call.name} ran, but ${problem}. Its effect has taken place.` };
}

async function pauseInBody(
  run: Run,
  driver: Driver,
  tool: ToolDefinition,
  call: Call,
  given: unknown,
  { payload, options }: { readonly payload: unknown; readonly options?: AskOptions },
): Promise<void> {
  const inner = pausedMessages(payload);
  if (inner) return pauseInside(run, tool, call, inner);
  const asked = shown(payload);
  const bound = await boundTo(tool, call, given);
  if (asked.ok) pause(run, driver, tool, call, 'interrupt', asked.value, options, bound);
  else settle(run, call, ranInVain(tool, call, `What ${call.name} wanted to ask is not JSON: ${asked.problem}.`));
}

function pauseInside(run: Run, tool: ToolDefinition, call: Call, messages: readonly Message[]): void {
  const interrupt = { id: interruptId(call.id, call.pauses + 1), kind: 'inside', payload: true } as const;
  run.record(event({ type: 'call-interrupted', callId: call.id, interrupt, ...innerOf(run, tool, messages) }));
}

/** What is on record as it happened is not written again, and again with each pause. */
function innerOf(run: Run, tool: ToolDefinition, inner: readonly Message[]): { inner?: readonly Message[] } {
  return recordsInside(run, tool) ? {} : { inner };
}

/** What happens in the conversation inside is recorded as it happens. */
function recordsInside({ isStored }: Run, { innerTools }: ToolDefinition): boolean {
  return isStored && innerTools !== undefined;
}

/** Whatever is given is shown, falsy or not; `true` stands for nothing given. */
function shown(payload: unknown): JsonCheck {
  return toJson(payload === undefined ? true : payload);
}

/** The messages of a paused response that a tool passes on. */
function pausedMessages(payload: unknown): readonly Message[] | undefined {
  if (!isObject(payload) || payload.finishReason !== 'interrupted' || !Array.isArray(payload.messages))
    return undefined;
  const messages = payload.messages as readonly Message[];
  return pendingParts(messages).length > 0 ? messages : undefined;
}

function pause(
  run: Run,
  driver: Driver,
  tool: ToolDefinition | undefined,
  call: Call,
  kind: InterruptKind,
  payload: Json,
  given: AskOptions = {},
  { runsWith, readAnew }: Bound = call,
): void {
  if (wasOvertaken(run, call)) return;
  const options = askOptionsOf(given);
  // What a gate says beside them is shown; what a body says beside them is said for nothing.
  const problem = (kind === 'interrupt' ? unreadOption(given) : undefined) ?? askProblem(options);
  if (problem !== undefined) {
    const text = `What ${call.name} wanted to ask cannot wait like that: ${problem}.`;
    return settle(run, call, tool && kind === 'interrupt' ? ranInVain(tool, call, text) : failed(text));
  }
  const { expiresIn, onExpiry, remindAfter, labels, risk } = { ...tool?.asks, ...options };
  const now = driver.clock?.();
  const interrupt = {
    id: interruptId(call.id, call.pauses + 1),
    kind,
    payload,
    // What cannot be known is for a person to say, however long it takes.
    ...(now !== undefined && expiresIn !== undefined && EXPIRES.has(kind) && { expiresAt: now + Math.ceil(expiresIn) }),
    ...(onExpiry !== undefined && { onExpiry }),
    ...(now !== undefined && remindAfter !== undefined && { remindAt: now + Math.ceil(remindAfter) }),
    ...(labels !== undefined && { labels }),
    ...(risk !== undefined && { risk }),
    ...(runsWith !== undefined && !sameJson(runsWith, call.input) && { runsWith }),
    ...(readAnew && { readAnew }),
  };
  run.record(event({ type: 'call-interrupted', callId: call.id, interrupt }));
}

const EXPIRES: ReadonlySet<InterruptKind> = new Set(['question', 'interrupt', 'approval']);

function settle(run: Run, call: Call, result: Result): void {
  const settled = event({ type: 'call-settled', callId: call.id, result });
  if (wasOvertaken(run, call)) run.onLate?.([settled]);
  else run.record(settled);
}

const failed = (text: string): Result => ({ type: 'error', text });

function unknownTool(name: string, { tools }: Driver): string {
  const known = [...tools.keys()];
  return `There is no tool ${name}. ${known.length > 0 ? `The tools are: ${known.join(', ')}.` : 'There are no tools.'}`;
}
