// How a call pauses: its request, or its sub-agent's, is recorded as an interrupt.

import { messageOf } from '../../core/errors.ts';
import {
  copyOf,
  defined,
  isObject,
  type Json,
  type JsonCheck,
  type JsonObject,
  sameJson,
  toJson,
} from '../../core/json.ts';
import { isToolRequest, type Message, type Metadata, type Part } from '../../core/messages/message.ts';
import { pendingParts } from '../../core/messages/pending-parts.ts';
import { unknownOptions } from '../../core/options.ts';
import {
  type Answer,
  type Bound,
  type Doubt,
  type Previews,
  type Previous,
  type RequestKind,
  requestOf,
  type Shown,
} from '../../core/request/request.ts';
import { type Call, requestId, type State } from '../../core/run/call.ts';
import { EVENT_VERSION, event } from '../../core/run/event.ts';
import { revisedBy, revisersOf } from '../../core/run/sent-back.ts';
import type { Driver, Run } from '../run.ts';
import {
  answerProblem,
  askOptionsOf,
  askProblem,
  INTERRUPT_OPTIONS,
  mergedWait,
  type WaitOptions,
} from '../tool/ask-options.ts';
import type { ToolDefinition } from '../tool/definition.ts';
import { reasonIn } from '../tool/model-schema.ts';
import { asSchema } from '../tool/schema.ts';
import type { AskOptions, InterruptOptions } from '../tool/signal.ts';
import { boundSoFar, boundTo } from './bound-input.ts';
import { endingFor, governRequest } from './judging/judge.ts';
import type { Governed } from './judging/judged.ts';
import { type LazyOrigins, originsIn } from './origins.ts';
import { failed, failedInBody, settle } from './result.ts';
import { type Times, timesOf } from './times.ts';
import { titleOf } from './title.ts';

type Question = {
  /** The tool that asks; undefined if it is missing here. */
  readonly tool: ToolDefinition | undefined;
  readonly kind: RequestKind;
  readonly payload: Json;
  readonly options?: InterruptOptions | undefined;
  /** Who must decide, and how its sources let the request wait. By default as its call was approved, and as `policyFor` says. */
  readonly governed?: Governed | undefined;
  /** The input that an approved call runs with; that of the call, unless given. */
  readonly bound?: Bound | undefined;
  /** A later request about an approved call shows the approved preview, unless given. */
  readonly previews?: Previews | undefined;
  readonly doubt?: Doubt;
  /** Where the values of the input came from. */
  readonly origins?: LazyOrigins | undefined;
};

/** Records the request with its title. If its options are invalid, the call fails instead. */
export async function ask(run: Run, driver: Driver, call: Call, asked: Question): Promise<void> {
  const {
    tool,
    kind,
    payload,
    options: given = PLAIN,
    governed: known,
    bound = boundSoFar(call),
    previews,
    doubt,
  } = asked;
  if (run.isSuperseded(call)) return;
  const options = given === PLAIN ? PLAIN : askOptionsOf(given);
  const problem = given === PLAIN ? undefined : problemOf(kind, given, options);
  const refuse = (why: string): void => {
    const text = `Invalid question options from ${call.name}: ${why}.`;
    settle(run, call, tool && kind === 'interrupt' ? failedInBody(tool, call, text) : failed(text));
  };
  if (problem !== undefined) return refuse(problem);
  const titled = titleOf(tool, call, bound, given.title);
  const title = titled instanceof Promise ? await titled : titled;
  if (run.isSuperseded(call)) return;
  const { runsWith: json = call.input } = bound;
  const requesters = requestersOf(run.state, driver, call);
  const wait = options === PLAIN ? (tool?.asks ?? PLAIN) : mergedWait(tool?.asks, options);
  const request = { tool, name: call.name, input: json, json, requesters };
  const governed =
    known ?? (await governRequest(driver, request, kind, wait, kind === 'interrupt' ? undefined : call.policies));
  if (run.isSuperseded(call)) return;
  const { policies, waits: sources } = governed;
  const onExpiry = sources.find(({ wait: own }) => own.onExpiry !== undefined)?.wait.onExpiry;
  const timing = joinedTimes(governed, driver.clock());
  const times = timing instanceof Promise ? await timing.catch(messageOf) : timing;
  if (run.isSuperseded(call)) return;
  if (typeof times === 'string') return refuse(times);
  const shownPreviews = previews ?? keptPreviews(kind, call);
  const answer = kind === 'interrupt' ? answerIn(given) : undefined;
  // No person has seen the changed preview or given the answer, so no deadline may approve it.
  const isUnseen = shownPreviews?.earlierPreview !== undefined || answer !== undefined;
  const ending = isUnseen && onExpiry === 'approve' ? 'reject' : endingFor(policies, onExpiry);
  const revises = kind === 'approval' && (run.state.sentBack ?? call.decided) !== undefined;
  const previous = revises ? previousOf(run.state, call) : undefined;
  const reviews = governed.reviews && { reviews: governed.reviews };
  const origins = asked.origins ?? (driver.usesOrigins ? originsIn(run, driver, tool, call, bound) : undefined);
  const said = shownOf(tool, call, { payload, title, wait, origins });
  const shown = { ...said, ...(previous && { previous }), ...reviews };
  const made = requestOf(kind, {
    id: requestId(call.id, call.pauses + 1),
    shown: doubt ? { ...shown, doubt } : shown,
    authority: { policies, requesters },
    bound: shownBound(bound, call),
    wait: times.expiresAt === undefined ? times : defined({ ...times, onExpiry: ending }),
    previews: shownPreviews,
    answer,
  });
  run.record({ v: EVENT_VERSION, type: 'call-interrupted', callId: call.id, request: made });
}

/** What a person reads of the request. */
function shownOf(
  tool: ToolDefinition | undefined,
  { input, decided }: Call,
  {
    payload,
    title,
    wait,
    origins,
  }: Pick<Question, 'payload' | 'origins'> & {
    readonly title: string | undefined;
    readonly wait: WaitOptions;
  },
): Shown {
  const { labels, risk, reversibility } = wait;
  const agentReason = (tool?.asksReason && reasonIn(input)) ?? decided?.request?.shown.agentReason;
  // What one request keeps out of notices is not in those of the next, even if the tool has changed or is missing.
  const notice = tool?.notice ?? decided?.request?.shown.notice;
  const commentsForModel = tool?.commentsForModel;
  const said = { payload, title, agentReason, labels, risk, notice, commentsForModel, origins: origins?.() };
  return defined({ ...said, ...(tool?.undo ? UNDOABLE : { reversibility }) });
}

const UNDOABLE = { reversibility: 'reversible', hasUndo: true } as const;

/** What a request for approval would have shown of a call that a grant lets run. Invalid options are left out. */
export async function unaskedShown(
  tool: ToolDefinition,
  call: Call,
  bound: Bound,
  payload: Json,
  { options: given = PLAIN, origins }: Pick<Question, 'options' | 'origins'>,
): Promise<Shown> {
  const options = askOptionsOf(given);
  const title = await titleOf(tool, call, bound, given.title);
  const isValid = problemOf('approval', given, options) === undefined;
  const wait = mergedWait(tool.asks, isValid ? options : PLAIN);
  return shownOf(tool, call, { payload, title, wait, origins });
}

/** What the request revises. Nothing is recorded between this and the request, so that each is revised once. */
function previousOf(state: State, call: Call): Previous | undefined {
  const revised = state.sentBack && revisedBy(state, call);
  if (revised && revised.askedIn === undefined) return revised.previous;
  // A call that asks again, as after its preview has changed.
  return call.decided?.request?.shown.previous;
}

/** A request without options of its own. */
const PLAIN: InterruptOptions = {};

/** A gate may return more than options, which the card shows. In a body, an unknown option is a mistake. */
function problemOf(kind: RequestKind, given: InterruptOptions, options: WaitOptions): string | undefined {
  const unknown = kind === 'interrupt' ? unknownOptions(given, INTERRUPT_OPTIONS) : undefined;
  return unknown ? `\`interrupt\` ${unknown.problem}` : (askProblem(options) ?? answerProblem(given));
}

/**
 * Who took part in a call: the starter of its run, the author of the message that led to it, and everyone who edited its input or asked
 * for the changes that it makes.
 */
export function requestersOf(
  state: Pick<State, 'spokenBy' | 'sentBack'>,
  { asker }: Pick<Driver, 'asker'>,
  call: Pick<Call, 'editors' | 'name'>,
): readonly string[] {
  const { spokenBy } = state;
  const { editors } = call;
  const revisers = state.sentBack ? revisersOf(state, call) : NOBODY;
  if (!asker && spokenBy === undefined && !editors && revisers.length === 0) return NOBODY;
  const all = [asker?.startedBy, spokenBy ?? asker?.spokenBy, ...(editors ?? []), ...revisers];
  return [...new Set(all.filter((person) => typeof person === 'string'))];
}

const NOBODY: readonly string[] = [];

/** The shortest deadline counts, and the reminders and escalations of every source. */
export function joinedTimes({ waits, policies }: Governed, now: number): Times | Promise<Times> {
  const [only, ...others] = waits;
  if (only && others.length === 0 && policies.length === 1) return timesOf(only.wait, now);
  return Promise.all(waits.map(({ wait }) => timesOf(wait, now))).then((all) => {
    const deadlines = all.flatMap(({ expiresAt }) => expiresAt ?? []);
    const reminders = [...new Set(all.flatMap(({ reminders = [] }) => reminders))].sort((a, b) => a - b);
    const escalate = all.flatMap(({ escalate: steps = [] }, index) =>
      steps.map((step) => ({ ...step, policy: waits[index]?.policy ?? -1 })),
    );
    return defined({
      expiresAt: deadlines.length > 0 ? Math.min(...deadlines) : undefined,
      reminders: reminders.length > 0 ? reminders : undefined,
      escalate: escalate.length > 0 ? escalate.sort((a, b) => a.at - b.at) : undefined,
    });
  });
}

function answerIn({ answerSchema: schema, onReject }: InterruptOptions): Answer | undefined {
  if (!schema) return undefined;
  const answerSchema = copyOf(asSchema(schema, 'answerSchema').json() as JsonObject);
  return { answerSchema, ...defined({ onReject }) };
}

/** A card need not repeat the input. */
function shownBound({ runsWith, readAnew }: Bound, { input }: Call): Bound {
  if (readAnew) return { readAnew };
  return runsWith === undefined || sameJson(runsWith, input) ? {} : { runsWith };
}

/** A doubt, and a request about a missing tool, are about the approved input. */
function keptPreviews(kind: RequestKind, { approvedPreview: preview }: Call): Previews | undefined {
  return preview && (kind === 'doubt' || kind === 'unavailable') ? { preview } : undefined;
}

/** Asks a person about an approved call that cannot run here. `bound`: the input that it would run with now. */
export async function askUnavailable(
  run: Run,
  driver: Driver,
  tool: ToolDefinition | undefined,
  call: Call,
  message: string,
  bound?: Bound,
): Promise<void> {
  const payload = { message: `${message}${lateResult(call)}` };
  await ask(run, driver, call, { tool, kind: 'unavailable', payload, options: keptOptions(call), bound });
}

/** A second request about a call keeps the labels and the class of the first, and its title if that still fits. */
export function keptOptions({ decided }: Call): AskOptions {
  const { title, labels, risk, reversibility } = decided?.request?.shown ?? {};
  // A request of the body was about something else, and an edit has changed what would happen.
  const isOther = decided?.request?.kind === 'interrupt' || (decided && 'input' in decided.decision);
  return defined({ title: isOther ? undefined : title, labels, risk, reversibility });
}

/** For a card: the result of an earlier start that came too late, shortened. */
export function lateResult({ endedLate }: Call): string {
  if (!endedLate) return '';
  const result = endedLate.type === 'output' ? JSON.stringify(endedLate.output) : endedLate.text;
  const shown = result.length > MAX_SHOWN ? `${result.slice(0, MAX_SHOWN)}…` : result;
  return ` An earlier start has ended late: ${shown}`;
}

const MAX_SHOWN = 500;

/** Records what a body asked with `interrupt()`: its request, or the requests of a sub-agent that it passes on. */
export async function pauseInBody(
  run: Run,
  driver: Driver,
  tool: ToolDefinition,
  call: Call,
  input: unknown,
  { payload, options }: { readonly payload: unknown; readonly options?: InterruptOptions },
): Promise<void> {
  const messages = pausedMessages(payload);
  if (messages) return pauseSubAgent(run, call, askedBy(messages, requestersOf(run.state, driver, call)));
  const shown = asPayload(payload);
  const bound = await boundTo(tool, call, input);
  if (shown.ok) await ask(run, driver, call, { tool, kind: 'interrupt', payload: shown.value, options, bound });
  else settle(run, call, failedInBody(tool, call, `The question from ${call.name} is not JSON: ${shown.problem}.`));
}

/**
 * The requests of a `generate` inside a body are asked for the people of the run that it is in. Its prompt is code's, so what it says
 * about origins does not count.
 */
function askedBy(messages: readonly Message[], requesters: readonly string[]): readonly Message[] {
  const marked = (part: Part): Part => {
    if (!isToolRequest(part)) return part;
    const { metadata = {} } = part;
    const inner = isObject(metadata.inner) ? (metadata.inner as { readonly messages?: readonly Message[] }) : undefined;
    const inside = inner?.messages && { inner: { ...inner, messages: askedBy(inner.messages, requesters) } };
    const isAsking = 'interrupt' in metadata && !('requesters' in metadata);
    const { origins: _ofItsOwn, ...rest } = metadata;
    return { ...part, metadata: { ...rest, ...inside, ...(isAsking && { requesters }) } as Metadata };
  };
  return messages.map((message) =>
    message.role === 'model' ? { ...message, content: message.content.map(marked) } : message,
  );
}

/** `true` stands for no payload, so that a falsy one is shown as well. */
export function asPayload(payload: unknown): JsonCheck {
  return toJson(payload === undefined ? true : payload);
}

/** The messages of a paused response, where a tool passes one on. */
function pausedMessages(payload: unknown): readonly Message[] | undefined {
  if (!isObject(payload) || payload.finishReason !== 'interrupted' || !Array.isArray(payload.messages))
    return undefined;
  const messages = payload.messages as readonly Message[];
  return pendingParts(messages).length > 0 ? messages : undefined;
}

export function pauseSubAgent(run: Run, call: Call, messages: readonly Message[]): void {
  const request = { id: requestId(call.id, call.pauses + 1), kind: 'inside' } as const;
  run.record(event({ type: 'call-interrupted', callId: call.id, request, ...unrecorded(call, messages) }));
}

/** The sub-agent stopped in the middle and needs no decision: it continues when the run does. */
export function holdSubAgent(run: Run, call: Call, messages: readonly Message[]): void {
  run.record(event({ type: 'call-held', callId: call.id, ...unrecorded(call, messages) }));
}

/** The messages of a sub-agent are not written if its events were recorded as they happened. */
function unrecorded({ phase }: Call, messages: readonly Message[]): { inner?: readonly Message[] } {
  return phase.at === 'started' && phase.progress === 'sub-agent' ? {} : { inner: messages };
}
