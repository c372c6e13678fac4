// A turn as messages: writes its calls at a pause and after it, and reads them back.
import { type Call, interruptId, newCall, type Phase, type Turn } from '../call.ts';
import type { Bound, Decision, Interrupt, InterruptKind, Result } from '../event.ts';
import { isObject, type Json } from '../json.ts';
import {
  isToolRequest,
  type Message,
  type Metadata,
  type Part,
  type ToolRequestPart,
  type ToolResponsePart,
} from '../message.ts';

/** On the last message of a run that reached its turn limit: counting starts again after it. */
export const MAX_TURNS_KEY = 'maxTurnsReached';

/** On a user message that waits until the pending decisions are made. */
export const QUEUED_KEY = 'queued';

/** On the open reply of a stored run: the id of that run, which continues only in its store. */
export const STORED_KEY = 'storedRun';

/** Metadata keys that only the engine writes on a request; a model's values under them are dropped. */
const ENGINE_KEYS: ReadonlySet<string> = new Set([
  'callId',
  'interrupt',
  'interruptKind',
  'expiresAt',
  'onExpiry',
  'remindAt',
  'labels',
  'risk',
  'runsWith',
  'readAnew',
  'pauses',
  'inner',
  'path',
  'steps',
  'started',
  'cleared',
  'resumed',
  'replacedInput',
  'editedBy',
  'interruptId',
  'interruptResponse',
  'outcome',
  'mayHaveActed',
  'resolvedInterrupt',
  'decision',
  'earlierDecisions',
  'passed',
  'pendingOutput',
  'pendingOutcome',
  'pendingMetadata',
]);

/** The metadata without the engine's keys. */
export function foreignMetadata(metadata: Metadata | undefined): Metadata | undefined {
  if (!metadata) return undefined;
  const keys = Object.keys(metadata);
  if (!keys.some((key) => ENGINE_KEYS.has(key))) return keys.length > 0 ? metadata : undefined;
  const kept = keys.filter((key) => !ENGINE_KEYS.has(key)).map((key) => [key, metadata[key]]);
  return kept.length > 0 ? Object.fromEntries(kept) : undefined;
}

/** The model's message of an open turn. Reading it back gives the same turn. */
export function openMessage(turn: Turn, storedIn?: string): Message {
  const metadata = {
    ...turn.metadata,
    ...(turn.resumed !== undefined && { resumed: turn.resumed }),
    ...(storedIn !== undefined && { [STORED_KEY]: storedIn }),
  };
  return {
    role: 'model',
    content: withRequests(turn, messageMetadata),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}

/** The two messages of a settled turn: the model's reply, and the results in the order of its calls. */
export function closeTurn(turn: Turn): readonly [Message, Message] {
  const responses = turn.calls.map((call) => responsePart(call));
  return [
    { role: 'model', content: withRequests(turn, decidedMetadata), ...(turn.metadata && { metadata: turn.metadata }) },
    {
      role: 'tool',
      content: responses,
      ...(turn.resumed !== undefined && { metadata: { resumed: turn.resumed } }),
    },
  ];
}

/** The request of one call as it stands in the open message. */
export function requestPart(call: Call, metadata: (call: Call) => Metadata = openMetadata): ToolRequestPart {
  const all = { ...call.metadata, ...metadata(call) };
  return {
    toolRequest: { name: call.name, ref: call.ref, input: call.input },
    ...(Object.keys(all).length > 0 && { metadata: all }),
  };
}

export function responsePart(call: Call): ToolResponsePart {
  if (call.phase.at !== 'settled') throw new TypeError(`Call ${call.id} is not settled.`);
  const { result } = call.phase;
  const metadata = { ...responseMetadata(result), ...(call.phase.isPending && { source: 'pending' }) };
  return {
    toolResponse: { name: call.name, ref: call.ref, output: outputOf(result) },
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
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
  return {
    ...decidedMetadata(call),
    ...(call.phase.at !== 'settled' && call.id !== call.ref && { callId: call.id }),
    ...(call.phase.at !== 'settled' && call.steps.size > 0 && { steps: Object.fromEntries(call.steps) }),
    ...writePauses(call),
    ...(call.phase.at !== 'settled' && call.resumed && { resumed: call.resumed.value }),
    ...phaseMetadata(call.phase),
    ...(isUnderWay(call.phase) && call.runsWith !== undefined && { runsWith: call.runsWith }),
  };
}

/** The call was approved, or needed no approval, and has neither asked nor ended. */
function isUnderWay({ at }: Phase): boolean {
  return at === 'cleared' || at === 'started' || at === 'sub-agent-waiting';
}

/** Omits the number that reading back assumes: 1 for a call that waits, 0 for any other. */
function writePauses({ phase, pauses }: Call): Metadata {
  return phase.at === 'settled' || pauses === (phase.at === 'waiting' ? 1 : 0) ? {} : { pauses };
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
      return {
        interrupt: phase.interrupt.payload,
        ...(WRITTEN_KINDS.has(phase.interrupt.kind) && { interruptKind: phase.interrupt.kind }),
        ...waitOf(phase.interrupt),
      };
    case 'settled': {
      const metadata = phase.result.metadata;
      return {
        pendingOutput: outputOf(phase.result),
        ...(phase.result.type !== 'output' && {
          pendingOutcome: { type: phase.result.type, ...(mayHaveActed(phase.result) && { mayHaveActed: true }) },
        }),
        ...(metadata && { pendingMetadata: metadata }),
      };
    }
  }
}

/** The deadline, labels and risk of a question, and the input that it is bound to. */
export function waitOf(
  given: Partial<Interrupt>,
): Pick<Interrupt, 'expiresAt' | 'onExpiry' | 'remindAt' | 'labels' | 'risk'> & Bound {
  const { expiresAt, onExpiry, remindAt, labels, risk, runsWith, readAnew } = given;
  return {
    ...(readAnew ? { readAnew } : runsWith !== undefined && { runsWith }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(onExpiry !== undefined && { onExpiry }),
    ...(remindAt !== undefined && { remindAt }),
    ...(labels !== undefined && { labels }),
    ...(risk !== undefined && { risk }),
  };
}

/** Kinds that the message names; without a name, the tool's body asked. */
const WRITTEN_KINDS: ReadonlySet<InterruptKind> = new Set(['question', 'approval', 'unknown-outcome', 'unavailable']);

/** What stays on a request for good: the decided question, the decision and the edit. */
function decidedMetadata(call: Call): Metadata {
  if (!call.decided) return {};
  const { interrupt, decision, earlier } = call.decided;
  const { edit } = call;
  const said = isPlain(decision) ? undefined : decisionMetadata(decision);
  return {
    ...(interrupt && { resolvedInterrupt: interrupt.payload }),
    ...(edit && { replacedInput: edit.proposed }),
    ...(edit?.by !== undefined && { editedBy: edit.by }),
    ...(said && { decision: said }),
    ...(earlier.length > 0 && { earlierDecisions: earlier }),
  };
}

/** An unsigned answer or restart, which the other keys already describe. */
function isPlain(decision: Decision): boolean {
  if (decision.type !== 'respond' && decision.type !== 'restart') return false;
  const { by, channel, note } = decision;
  return by === undefined && channel === undefined && note === undefined && !('input' in decision);
}

/** The note of a decision in the messages. */
export function decisionMetadata(decision: Decision): Metadata {
  if (decision.type === 'inside') return { type: 'inside', decided: decision.decided };
  if (isPlain(decision)) return { type: decision.type };
  const edited = 'input' in decision;
  const { by, channel, note } = decision;
  const reason = 'reason' in decision ? decision.reason : undefined;
  return {
    type: edited ? 'edit' : decision.type,
    ...(by !== undefined && { by }),
    ...(channel !== undefined && { channel }),
    ...(note !== undefined && { note }),
    ...(reason !== undefined && { reason }),
    ...(decision.metadata !== undefined && { metadata: decision.metadata }),
  };
}

function outputOf(result: Result): Json {
  return result.type === 'output' ? result.output : result.text;
}

function responseMetadata(result: Result): Metadata {
  return {
    ...result.metadata,
    ...(result.type !== 'output' && { outcome: result.type }),
    ...(mayHaveActed(result) && { mayHaveActed: true }),
  };
}

const mayHaveActed = (result: Result): boolean => result.type !== 'output' && result.mayHaveActed === true;

/** Reads a turn back from the model's message and the answers that followed it. */
export function readTurn(message: Message, answers: ReadonlyMap<string, ToolResponsePart>): Turn {
  const calls = message.content.filter(isToolRequest).map((part) => readCall(part, answers.get(part.toolRequest.ref)));
  const { resumed, [STORED_KEY]: _stored, ...metadata } = message.metadata ?? {};
  return {
    content: message.content,
    calls,
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(resumed !== undefined && { resumed: resumed as Json }),
  };
}

function readCall(part: ToolRequestPart, answer: ToolResponsePart | undefined): Call {
  const { name, ref, input } = part.toolRequest;
  const metadata = part.metadata ?? {};
  const id = typeof metadata.callId === 'string' ? metadata.callId : ref;
  const pauses = typeof metadata.pauses === 'number' ? metadata.pauses : 'interrupt' in metadata ? 1 : 0;
  const { editedBy: by } = metadata;
  const decided = readDecided(metadata);
  const foreign = foreignMetadata(part.metadata);
  const phase = answer ? answered(answer) : readPhase(metadata, id, pauses);
  return {
    ...newCall({ id, ref }, name, input as Json),
    phase,
    pauses,
    ...(foreign && { metadata: foreign }),
    ...('replacedInput' in metadata && {
      edit: { proposed: metadata.replacedInput as Json, ...(typeof by === 'string' && { by }) },
    }),
    ...('resumed' in metadata && { resumed: { value: metadata.resumed as Json } }),
    ...(decided && { decided }),
    ...(Array.isArray(metadata.passed) && { approvals: metadata.passed as readonly InterruptKind[] }),
    ...(isObject(metadata.steps) && { steps: new Map(Object.entries(metadata.steps as Record<string, Json>)) }),
    ...(isUnderWay(phase) && 'runsWith' in metadata && { runsWith: metadata.runsWith as Json }),
  };
}

function readPhase(metadata: Metadata, id: string, pauses: number): Phase {
  if ('pendingOutput' in metadata) return { at: 'settled', result: readPending(metadata), isPending: true };
  const inner = isObject(metadata.inner) ? metadata.inner : undefined;
  const messages = inner?.messages as readonly Message[] | undefined;
  if (inner?.waiting === true && messages)
    return { at: 'sub-agent-waiting', interruptId: interruptId(id, pauses), messages };
  if ('interrupt' in metadata) {
    const kind = metadata.interruptKind as InterruptKind | undefined;
    return {
      at: 'waiting',
      interrupt: {
        id: interruptId(id, pauses),
        kind: kind !== undefined && WRITTEN_KINDS.has(kind) ? kind : 'interrupt',
        payload: metadata.interrupt as Json,
        ...waitOf(metadata as Partial<Interrupt>),
      },
    };
  }
  if (metadata.started === true) return { at: 'started', progress: 'unknown' };
  if (metadata.cleared === true) return { at: 'cleared' };
  return messages ? { at: 'sub-agent-held', messages } : { at: 'open' };
}

function readPending(metadata: Metadata): Result {
  const output = metadata.pendingOutput as Json;
  const outcome = metadata.pendingOutcome;
  const kept = isObject(metadata.pendingMetadata) ? { metadata: metadata.pendingMetadata } : {};
  return isObject(outcome)
    ? notOutput(outcome.type, output, outcome.mayHaveActed, kept)
    : { type: 'output', output, ...kept };
}

function answered(answer: ToolResponsePart): Phase {
  const { outcome, mayHaveActed, ...rest } = answer.metadata ?? {};
  const output = (answer.toolResponse.output ?? null) as Json;
  const kept = Object.keys(rest).length > 0 ? { metadata: rest } : {};
  return {
    at: 'settled',
    result:
      outcome === undefined ? { type: 'output', output, ...kept } : notOutput(outcome, output, mayHaveActed, kept),
  };
}

function notOutput(said: unknown, output: Json, acted: unknown, kept: { metadata?: Metadata }): Result {
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  const type = said === 'rejected' || said === 'cancelled' ? said : 'error';
  return { type, text, ...(acted === true && { mayHaveActed: true }), ...kept };
}

function readDecided(metadata: Metadata): Call['decided'] {
  const said = metadata.decision;
  const hasAsked = 'resolvedInterrupt' in metadata;
  if (!hasAsked && !isObject(said)) return undefined;
  return {
    ...(hasAsked && { interrupt: { id: '', kind: 'interrupt', payload: metadata.resolvedInterrupt as Json } }),
    decision: isObject(said) ? readSaid(said) : { type: 'restart', resumed: true },
    earlier: Array.isArray(metadata.earlierDecisions) ? (metadata.earlierDecisions as readonly Metadata[]) : [],
  };
}

/** Reads that note back; an edit was an approval with another input. */
function readSaid(said: Record<string, unknown>): Decision {
  return (said.type === 'edit' ? { ...said, type: 'approve', input: null } : said) as Decision;
}
