// A turn as messages: how its calls are written at a pause and after it, and how they are read back.
import { type Call, interruptId, NO_STEPS, type Phase, type Turn } from '../call.ts';
import type { Decision, Interrupt, InterruptKind, Result } from '../event.ts';
import { isObject, type Json } from '../json.ts';
import {
  isToolRequest,
  type Message,
  type Metadata,
  type Part,
  type ToolRequestPart,
  type ToolResponsePart,
} from '../message.ts';

/** On the last message of a run that reached its turn limit: counting starts anew after it. */
export const MAX_TURNS_KEY = 'maxTurnsReached';

/** On a user message that waits until the pending decisions are made. */
export const QUEUED_KEY = 'queued';

/** On the open reply of a stored run, wherever its messages are shown: the id of that run, in which it goes on. */
export const STORED_KEY = 'storedRun';

/** Metadata keys that only the engine writes on a request; whatever a model sends under them is dropped. */
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

/** The part's metadata without what only the engine may say. */
export function foreignMetadata(metadata: Metadata | undefined): Metadata | undefined {
  if (!metadata) return undefined;
  const keys = Object.keys(metadata);
  if (!keys.some((key) => ENGINE_KEYS.has(key))) return keys.length > 0 ? metadata : undefined;
  const kept = keys.filter((key) => !ENGINE_KEYS.has(key)).map((key) => [key, metadata[key]]);
  return kept.length > 0 ? Object.fromEntries(kept) : undefined;
}

/** The model's message of a turn in which calls are open. Reading it back gives the same turn. */
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

/** The two messages of a turn whose calls are all settled: what the model said, and what came of it, in its order. */
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
  const metadata = { ...responseMetadata(result), ...(call.pending && { source: 'pending' }) };
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

/** What whoever goes on from the messages has to know, and nobody is shown on a card. */
function messageMetadata(call: Call): Metadata {
  const { passed, phase } = call;
  return { ...openMetadata(call), ...(phase.at !== 'settled' && passed && { passed }) };
}

function openMetadata(call: Call): Metadata {
  return {
    ...decidedMetadata(call),
    ...(call.phase.at !== 'settled' && call.id !== call.ref && { callId: call.id }),
    ...(call.phase.at !== 'settled' && call.steps.size > 0 && { steps: Object.fromEntries(call.steps) }),
    ...writePauses(call),
    ...(call.phase.at !== 'settled' && call.resumed && { resumed: call.resumed.value }),
    ...phaseMetadata(call.phase),
    ...(isUnderWay(call) && call.runsWith !== undefined && { runsWith: call.runsWith }),
  };
}

/** A person let it run, and nobody has said yet what came of it. What waits inside it is no question of its own. */
function isUnderWay({ phase }: Pick<Call, 'phase'>): boolean {
  if (phase.at === 'waiting') return phase.interrupt.kind === 'inside';
  return phase.at === 'cleared' || phase.at === 'started';
}

/** Left out where it can be told from the rest: the first pause of a call that waits. */
function writePauses({ phase, pauses }: Call): Metadata {
  const told = phase.at === 'waiting' && phase.interrupt.kind !== 'inside' ? 1 : 0;
  return phase.at === 'settled' || pauses === told ? {} : { pauses };
}

function phaseMetadata(phase: Phase): Metadata {
  switch (phase.at) {
    case 'open':
      return phase.inner ? { inner: { messages: phase.inner } } : {};
    case 'cleared':
      return { cleared: true };
    case 'started':
      return { started: true };
    case 'waiting':
      if (phase.interrupt.kind === 'inside') return { inner: { messages: phase.inner, waiting: true } };
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

/** How long and how urgently a question waits, and with what its call would run, as far as it says. */
export function waitOf(
  given: Partial<Interrupt>,
): Pick<Interrupt, 'expiresAt' | 'onExpiry' | 'remindAt' | 'labels' | 'risk' | 'runsWith' | 'readAnew'> {
  const { expiresAt, onExpiry, remindAt, labels, risk, runsWith, readAnew } = given;
  return {
    ...(runsWith !== undefined && { runsWith }),
    ...(readAnew && { readAnew }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(onExpiry !== undefined && { onExpiry }),
    ...(remindAt !== undefined && { remindAt }),
    ...(labels !== undefined && { labels }),
    ...(risk !== undefined && { risk }),
  };
}

/** Kinds that the message names; without a name, the tool's body asked. */
const WRITTEN_KINDS: ReadonlySet<InterruptKind> = new Set(['question', 'approval', 'unknown-outcome', 'unavailable']);

/** What stays on a request for good: which question was decided, and how the input was edited and by whom. */
function decidedMetadata(call: Call): Metadata {
  if (!call.decided) return {};
  const { interrupt, decision } = call.decided;
  const earlier = call.earlierDecisions;
  const said = isPlain(decision) ? undefined : decisionMetadata(decision);
  return {
    ...(interrupt.kind !== 'inside' && { resolvedInterrupt: interrupt.payload }),
    ...(call.proposed !== undefined && { replacedInput: call.proposed }),
    ...(call.editedBy !== undefined && { editedBy: call.editedBy }),
    ...(said && { decision: said }),
    ...(earlier && { earlierDecisions: earlier }),
  };
}

/** A plain answer that nobody signed: what it was is told by the rest. */
function isPlain(decision: Decision): boolean {
  if (decision.type !== 'respond' && decision.type !== 'restart') return false;
  const { by, channel, note } = decision;
  return by === undefined && channel === undefined && note === undefined && !('input' in decision);
}

/** What is kept of a decision in the messages. */
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
  const decided = readDecided(metadata);
  const foreign = foreignMetadata(part.metadata);
  const stands = answer ? { phase: answered(answer) } : readPhase(metadata, id, pauses);
  return {
    id,
    ref,
    name,
    ...(foreign && { metadata: foreign }),
    input: input as Json,
    ...('replacedInput' in metadata && { proposed: metadata.replacedInput as Json }),
    ...(typeof metadata.editedBy === 'string' && { editedBy: metadata.editedBy }),
    pauses,
    ...('resumed' in metadata && { resumed: { value: metadata.resumed as Json } }),
    ...(decided && { decided }),
    ...(Array.isArray(metadata.earlierDecisions) && {
      earlierDecisions: metadata.earlierDecisions as readonly Metadata[],
    }),
    ...(Array.isArray(metadata.passed) && { passed: metadata.passed as readonly InterruptKind[] }),
    steps: isObject(metadata.steps) ? new Map(Object.entries(metadata.steps as Record<string, Json>)) : NO_STEPS,
    ...(isUnderWay(stands) && 'runsWith' in metadata && { runsWith: metadata.runsWith as Json }),
    ...stands,
  };
}

function readPhase(metadata: Metadata, id: string, pauses: number): { phase: Phase; pending?: true } {
  if ('pendingOutput' in metadata) return { phase: { at: 'settled', result: readPending(metadata) }, pending: true };
  const inner = isObject(metadata.inner) ? metadata.inner : undefined;
  const messages = inner?.messages as readonly Message[] | undefined;
  if (inner?.waiting === true && messages) {
    const interrupt: Interrupt = { id: interruptId(id, pauses), kind: 'inside', payload: true };
    return { phase: { at: 'waiting', interrupt, inner: messages } };
  }
  if ('interrupt' in metadata) {
    const kind = metadata.interruptKind as InterruptKind | undefined;
    const payload = metadata.interrupt as Json;
    return {
      phase: {
        at: 'waiting',
        interrupt: {
          id: interruptId(id, pauses),
          kind: kind !== undefined && WRITTEN_KINDS.has(kind) ? kind : 'interrupt',
          payload,
          ...waitOf(metadata as Partial<Interrupt>),
        },
      },
    };
  }
  if (metadata.started === true) return { phase: { at: 'started' } };
  if (metadata.cleared === true) return { phase: { at: 'cleared' } };
  return { phase: { at: 'open', ...(messages && { inner: messages }) } };
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
  if (!('resolvedInterrupt' in metadata) && !isObject(said)) return undefined;
  const payload = 'resolvedInterrupt' in metadata ? (metadata.resolvedInterrupt as Json) : true;
  const interrupt: Interrupt = { id: '', kind: 'interrupt', payload };
  return { interrupt, decision: isObject(said) ? readSaid(said) : { type: 'restart', resumed: true } };
}

/** What a request says about its decision; an edit was an approval with another input. */
function readSaid(said: Record<string, unknown>): Decision {
  return (said.type === 'edit' ? { ...said, type: 'approve', input: null } : said) as Decision;
}
