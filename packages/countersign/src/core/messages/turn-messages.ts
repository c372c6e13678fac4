// A turn as messages: writes its calls at a pause and after it, and reads them back.

import type { Policies } from '../authority/policy.ts';
import { defined, isObject, type Json } from '../json.ts';
import type { Preview, RequestKind } from '../request/request.ts';
import { type Call, newCall, newTurn, type Phase, requestId, type Turn } from '../run/call.ts';
import type { Decision, Result } from '../run/event.ts';
import {
  isToolRequest,
  type Message,
  type Metadata,
  type Part,
  type ToolRequestPart,
  type ToolResponsePart,
} from './message.ts';
import { REQUEST_KEYS, requestIn, waitingMetadata, writtenPolicies } from './request-metadata.ts';

/** On the last message of a run that reached its turn limit: counting starts again after it. */
export const MAX_TURNS_KEY = 'maxTurnsReached';

/** On a user message that waits until the pending decisions are made. */
export const QUEUED_KEY = 'queued';

/** On the open reply of a stored run: the id of that run, which continues only in its store. */
export const STORED_KEY = 'storedRun';

/** Metadata keys that only the engine writes on a request; a model's values under them are dropped. */
const ENGINE_KEYS: ReadonlySet<string> = new Set(
  `${REQUEST_KEYS.join(' ')} callId approvedPreview editors round editedFrom pauses inner path steps
  started cleared resumed continues replacedInput editedBy requestId interruptResponse outcome mayHaveActed
  resolvedInterrupt decision earlierDecisions grant passed pendingOutput pendingOutcome pendingMetadata`.split(/\s+/),
);

export function foreignMetadata(metadata: Metadata | undefined): Metadata | undefined {
  if (!metadata) return undefined;
  return unlessEmpty(Object.fromEntries(Object.entries(metadata).filter(([key]) => !ENGINE_KEYS.has(key))));
}

function unlessEmpty(metadata: Metadata): Metadata | undefined {
  for (const _key in metadata) return metadata;
  return undefined;
}

/** `of` with its metadata, where there is any. */
function noted<T extends object>(of: T, metadata: Metadata | undefined): T & { readonly metadata?: Metadata } {
  return metadata ? { ...of, metadata } : of;
}

/** The model's message of an open turn. Reading it back gives the same turn. */
export function openMessage(turn: Turn, storedIn?: string): Message {
  const metadata = unlessEmpty({ ...turn.metadata, ...defined({ resumed: turn.resumed, [STORED_KEY]: storedIn }) });
  return noted({ role: 'model', content: withRequests(turn, messageMetadata) }, metadata);
}

/** The two messages of a settled turn: the model's reply, and the results in the order of its calls. */
export function closeTurn(turn: Turn): readonly [Message, Message] {
  const { metadata, resumed } = turn;
  return [
    noted({ role: 'model', content: withRequests(turn, decidedMetadata) }, metadata),
    noted({ role: 'tool', content: turn.calls.map(responsePart) }, resumed === undefined ? undefined : { resumed }),
  ];
}

export function requestPart(call: Call, metadata: (call: Call) => Metadata = openMetadata): ToolRequestPart {
  const { name, ref, input } = call;
  return noted({ toolRequest: { name, ref, input } }, unlessEmpty({ ...call.metadata, ...metadata(call) }));
}

export function responsePart(call: Call): ToolResponsePart {
  if (call.phase.at !== 'settled') throw new TypeError(`Call ${call.id} is not settled.`);
  const { result, isPending } = call.phase;
  const metadata = {
    ...result.metadata,
    ...(result.type !== 'output' && { outcome: result.type, ...acted(result) }),
    ...(isPending && { source: 'pending' }),
  };
  const toolResponse = { name: call.name, ref: call.ref, output: outputOf(result) };
  return noted({ toolResponse }, unlessEmpty(metadata));
}

function withRequests(turn: Turn, metadata: (call: Call) => Metadata): readonly Part[] {
  let index = 0;
  return turn.content.map((part) => {
    if (!isToolRequest(part)) return part;
    const call = turn.calls[index++];
    return call ? requestPart(call, metadata) : part;
  });
}

/** Also what only a continuation needs and no card shows. */
function messageMetadata(call: Call): Metadata {
  const { approvals, phase } = call;
  return { ...openMetadata(call), ...(phase.at !== 'settled' && approvals.length > 0 && { passed: approvals }) };
}

function openMetadata(call: Call): Metadata {
  const { id, ref, phase, steps, pauses, resumed, runsWith, approvedPreview, editors } = call;
  if (phase.at === 'settled') return { ...decidedMetadata(call), ...phaseMetadata(phase) };
  return {
    ...decidedMetadata(call),
    ...(id !== ref && { callId: id }),
    ...(steps.size > 0 && { steps: Object.fromEntries(steps) }),
    // Omits the number that reading back assumes.
    ...(pauses !== (phase.at === 'waiting' ? 1 : 0) && { pauses }),
    ...(resumed && { resumed: resumed.value, ...defined({ continues: resumed.continues }) }),
    ...phaseMetadata(phase),
    ...(isUnderWay(phase) && { ...defined({ runsWith, approvedPreview, editors }), ...writtenPolicies(call.policies) }),
  };
}

/** The call was approved, or needed no approval, and has neither asked nor ended. */
function isUnderWay({ at }: Phase): boolean {
  return at === 'cleared' || at === 'started' || at === 'sub-agent-waiting';
}

function phaseMetadata(phase: Phase): Metadata {
  switch (phase.at) {
    case 'open':
      return {};
    case 'sub-agent-held':
      return { inner: { messages: phase.messages } };
    case 'sub-agent-waiting':
      return { inner: { messages: phase.messages, waiting: true } };
    case 'cleared':
      return { cleared: true };
    case 'started':
      return { started: true };
    case 'waiting':
      return waitingMetadata(phase.request);
    case 'settled': {
      const { result } = phase;
      const outcome = result.type === 'output' ? undefined : { type: result.type, ...acted(result) };
      return defined({ pendingOutput: outputOf(result), pendingOutcome: outcome, pendingMetadata: result.metadata });
    }
  }
}

/** What stays on a request for good: the decided request, the decision and the edit. */
function decidedMetadata(call: Call): Metadata {
  const { edit, granted: grant } = call;
  if (!call.decided) return defined({ grant });
  const { request, decision, earlier } = call.decided;
  return defined({
    grant,
    resolvedInterrupt: request?.shown.payload,
    replacedInput: edit?.proposed,
    editedBy: edit?.by,
    decision: isPlain(decision) ? undefined : decisionMetadata(decision),
    earlierDecisions: earlier.length > 0 ? earlier : undefined,
  });
}

/** An unsigned answer or restart, which the other keys already describe. */
function isPlain(decision: Decision): boolean {
  if (decision.type !== 'respond' && decision.type !== 'restart') return false;
  const { by, channel, note } = decision;
  return by === undefined && channel === undefined && note === undefined && !('input' in decision);
}

export function decisionMetadata(decision: Decision): Metadata {
  if (decision.type === 'inside') return { type: 'inside', decided: decision.decided };
  if (isPlain(decision)) return { type: decision.type };
  const { by, channel, note, metadata } = decision;
  const type = 'input' in decision ? 'edit' : decision.type;
  const reason = 'reason' in decision ? decision.reason : undefined;
  return defined({ type, by, channel, note, reason, metadata });
}

function outputOf(result: Result): Json {
  return result.type === 'output' ? result.output : result.text;
}

const acted = ({ mayHaveActed }: { mayHaveActed?: true }): Metadata => (mayHaveActed ? { mayHaveActed } : {});

/** Reads a turn back from the model's message and the answers that followed it. */
export function readTurn(message: Message, answers: ReadonlyMap<string, ToolResponsePart>): Turn {
  const calls = message.content.filter(isToolRequest).map((part) => readCall(part, answers.get(part.toolRequest.ref)));
  const { resumed, [STORED_KEY]: _stored, ...metadata } = message.metadata ?? {};
  const turn = newTurn(message.content, calls);
  return { ...turn, ...defined({ metadata: unlessEmpty(metadata), resumed: resumed as Json | undefined }) };
}

function readCall(part: ToolRequestPart, answer: ToolResponsePart | undefined): Call {
  const { name, ref, input } = part.toolRequest;
  const metadata = part.metadata ?? {};
  const id = typeof metadata.callId === 'string' ? metadata.callId : ref;
  const pauses = typeof metadata.pauses === 'number' ? metadata.pauses : 'interrupt' in metadata ? 1 : 0;
  const { editedBy: by } = metadata;
  const phase = answer ? answered(answer) : readPhase(metadata, id, pauses);
  return {
    ...newCall({ id, ref }, name, input as Json),
    phase,
    pauses,
    ...defined({ metadata: foreignMetadata(part.metadata), decided: readDecided(metadata) }),
    ...('replacedInput' in metadata && {
      edit: { proposed: metadata.replacedInput as Json, ...(typeof by === 'string' && { by }) },
    }),
    ...(isObject(metadata.grant) && { granted: metadata.grant as NonNullable<Call['granted']> }),
    ...('resumed' in metadata && {
      resumed: { value: metadata.resumed as Json, ...(metadata.continues === true && { continues: true }) },
    }),
    ...(Array.isArray(metadata.passed) && { approvals: metadata.passed as readonly RequestKind[] }),
    ...(isObject(metadata.steps) && { steps: new Map(Object.entries(metadata.steps as Record<string, Json>)) }),
    ...(isUnderWay(phase) && 'runsWith' in metadata && { runsWith: metadata.runsWith as Json }),
    ...(isUnderWay(phase) &&
      isObject(metadata.approvedPreview) && { approvedPreview: metadata.approvedPreview as Preview }),
    ...(isUnderWay(phase) &&
      Array.isArray(metadata.policies) && { policies: metadata.policies as unknown as Policies }),
    ...(isUnderWay(phase) && Array.isArray(metadata.editors) && { editors: metadata.editors as readonly string[] }),
  };
}

function readPhase(metadata: Metadata, id: string, pauses: number): Phase {
  if ('pendingOutput' in metadata) return { at: 'settled', result: readPending(metadata), isPending: true };
  const inner = isObject(metadata.inner) ? metadata.inner : undefined;
  const messages = inner?.messages as readonly Message[] | undefined;
  if (inner?.waiting === true && messages)
    return { at: 'sub-agent-waiting', requestId: requestId(id, pauses), messages };
  if ('interrupt' in metadata) return { at: 'waiting', request: requestIn(requestId(id, pauses), metadata) };
  if (metadata.started === true) return { at: 'started', progress: 'unknown' };
  if (metadata.cleared === true) return { at: 'cleared' };
  return messages ? { at: 'sub-agent-held', messages } : { at: 'open' };
}

function readPending(metadata: Metadata): Result {
  const { pendingOutput, pendingOutcome, pendingMetadata } = metadata;
  const { type, mayHaveActed } = isObject(pendingOutcome) ? pendingOutcome : {};
  return readResult(pendingOutput as Json, type, mayHaveActed, isObject(pendingMetadata) ? pendingMetadata : {});
}

function answered(answer: ToolResponsePart): Phase {
  const { outcome, mayHaveActed, ...rest } = answer.metadata ?? {};
  const output = (answer.toolResponse.output ?? null) as Json;
  return { at: 'settled', result: readResult(output, outcome, mayHaveActed, rest) };
}

/** `outcome` is absent if the call returned. */
function readResult(output: Json, outcome: unknown, mayHaveActed: unknown, given: Metadata): Result {
  const metadata = defined({ metadata: unlessEmpty(given) });
  if (outcome === undefined) return { type: 'output', output, ...metadata };
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  const type = outcome === 'rejected' || outcome === 'cancelled' ? outcome : 'error';
  return { type, text, ...(mayHaveActed === true && { mayHaveActed }), ...metadata };
}

function readDecided(metadata: Metadata): Call['decided'] {
  const { resolvedInterrupt, decision: said, earlierDecisions } = metadata;
  if (resolvedInterrupt === undefined && !isObject(said)) return undefined;
  // An edit was an approval with another input.
  const made = isObject(said) && said.type === 'edit' ? { ...said, type: 'approve', input: null } : said;
  const request = requestIn('', { interrupt: resolvedInterrupt });
  return {
    ...(resolvedInterrupt !== undefined && { request }),
    decision: isObject(made) ? (made as Decision) : { type: 'restart', resumed: true },
    earlier: Array.isArray(earlierDecisions) ? (earlierDecisions as readonly Metadata[]) : [],
  };
}
