// A turn as messages: writes its calls at a pause and after it, and reads them back.

import type { Policies } from '../authority/policy.ts';
import { defined, isObject, type Json } from '../json.ts';
import type { Preview, RequestKind } from '../request/request.ts';
import { askedId, type Call, newCall, newTurn, type Phase, requestId, type Turn } from '../run/call.ts';
import type { Decision, Result } from '../run/event.ts';
import {
  isToolRequest,
  type Message,
  type Metadata,
  type Part,
  type ToolRequestPart,
  type ToolResponsePart,
} from './message.ts';
import { isWritten, REQUEST_KEYS, requestIn, waitingMetadata } from './request-metadata.ts';

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
  const foreign: Writing = {};
  for (const key of Object.keys(metadata)) if (!ENGINE_KEYS.has(key)) foreign[key] = metadata[key];
  return unlessEmpty(foreign);
}

/** Metadata while it is written. */
type Writing = Record<string, unknown>;

function unlessEmpty(metadata: Metadata): Metadata | undefined {
  for (const _key in metadata) return metadata;
  return undefined;
}

/** The model's message of an open turn. Reading it back gives the same turn. */
export function openMessage(turn: Turn, storedIn?: string): Message {
  const { resumed } = turn;
  const content = withRequests(turn, (call) => requestPart(call, continuationMetadata(call)));
  if (resumed === undefined && storedIn === undefined)
    return turn.metadata ? { role: 'model', content, metadata: turn.metadata } : { role: 'model', content };
  const metadata = { ...turn.metadata, ...defined({ resumed, [STORED_KEY]: storedIn }) };
  return { role: 'model', content, metadata };
}

/** The two messages of a settled turn: the model's reply, and the results in the order of its calls. */
export function closeTurn(turn: Turn): readonly [Message, Message] {
  const { metadata, resumed } = turn;
  const content = withRequests(turn, (call) => requestPart(call, writeDecided(call, { ...call.metadata })));
  const results = turn.calls.map(responsePart);
  return [
    metadata ? { role: 'model', content, metadata } : { role: 'model', content },
    resumed === undefined
      ? { role: 'tool', content: results }
      : { role: 'tool', content: results, metadata: { resumed } },
  ];
}

export function requestPart(call: Call, written: Metadata = openMetadata(call)): ToolRequestPart {
  const { name, ref, input } = call;
  const metadata = unlessEmpty(written);
  return metadata ? { toolRequest: { name, ref, input }, metadata } : { toolRequest: { name, ref, input } };
}

export function responsePart({ id, name, ref, phase }: Call): ToolResponsePart {
  if (phase.at !== 'settled') throw new TypeError(`Call ${id} is not settled.`);
  const { result, isPending } = phase;
  const toolResponse = { name, ref, output: outputOf(result) };
  if (result.type === 'output' && !result.metadata && !isPending) return { toolResponse };
  const written: Writing = { ...result.metadata };
  if (result.type !== 'output') {
    written.outcome = result.type;
    if (result.mayHaveActed) written.mayHaveActed = true;
  }
  if (isPending) written.source = 'pending';
  const metadata = unlessEmpty(written);
  return metadata ? { toolResponse, metadata } : { toolResponse };
}

function withRequests(turn: Turn, write: (call: Call) => Part): readonly Part[] {
  let index = 0;
  return turn.content.map((part) => {
    if (!isToolRequest(part)) return part;
    const call = turn.calls[index++];
    return call ? write(call) : part;
  });
}

/** Also what only a continuation needs and no card shows. */
function continuationMetadata(call: Call): Metadata {
  const written = openMetadata(call);
  if (call.phase.at !== 'settled' && call.approvals.length > 0) written.passed = call.approvals;
  return written;
}

/** What the provider said of the call, and how far it has come. */
export function openMetadata(call: Call): Writing {
  const { id, ref, phase, steps, pauses, resumed } = call;
  const written = writeDecided(call, { ...call.metadata });
  if (phase.at === 'settled') return writePhase(phase, written);
  if (id !== ref) written.callId = id;
  if (steps.size > 0) written.steps = Object.fromEntries(steps);
  // Omits the number that reading back assumes.
  if (pauses !== (phase.at === 'waiting' && phase.request.kind !== 'recall' ? 1 : 0)) written.pauses = pauses;
  if (resumed) {
    written.resumed = resumed.value;
    if (resumed.continues) written.continues = true;
  }
  writePhase(phase, written);
  if (!isUnderWay(phase)) return written;
  const { runsWith, approvedPreview, editors, policies } = call;
  if (runsWith !== undefined) written.runsWith = runsWith;
  if (approvedPreview) written.approvedPreview = approvedPreview;
  if (editors) written.editors = editors;
  if (policies && isWritten(policies)) written.policies = policies;
  return written;
}

/** The call was approved, or needed no approval, and has neither asked nor ended. */
function isUnderWay({ at }: Phase): boolean {
  return at === 'cleared' || at === 'started' || at === 'sub-agent-waiting';
}

function writePhase(phase: Phase, written: Writing): Writing {
  switch (phase.at) {
    case 'open':
      return written;
    case 'sub-agent-held':
      written.inner = { messages: phase.messages };
      return written;
    case 'sub-agent-waiting':
      written.inner = { messages: phase.messages, waiting: true };
      return written;
    case 'cleared':
      written.cleared = true;
      return written;
    case 'started':
      written.started = true;
      return written;
    case 'waiting':
      waitingMetadata(phase.request, written);
      return written;
    case 'settled': {
      const { result } = phase;
      written.pendingOutput = outputOf(result);
      if (result.type !== 'output') written.pendingOutcome = { type: result.type, ...acted(result) };
      if (result.metadata) written.pendingMetadata = result.metadata;
      return written;
    }
  }
}

/** What stays on a request for good: the decided request, the decision and the edit. */
function writeDecided({ edit, granted, decided }: Call, written: Writing): Writing {
  if (granted) written.grant = granted;
  if (!decided) return written;
  const { request, decision, earlier } = decided;
  if (request) written.resolvedInterrupt = request.shown.payload;
  if (edit) {
    written.replacedInput = edit.proposed;
    if (edit.by !== undefined) written.editedBy = edit.by;
  }
  if (!isPlain(decision)) written.decision = decisionMetadata(decision);
  if (earlier.length > 0) written.earlierDecisions = earlier;
  return written;
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
  const comment = decision.type === 'revise' ? decision.comment : undefined;
  return defined({ type, by, channel, note, reason, comment, metadata });
}

function outputOf(result: Result): Json {
  return result.type === 'output' ? result.output : result.text;
}

const acted = ({ mayHaveActed }: { mayHaveActed?: true }): Metadata => (mayHaveActed ? { mayHaveActed } : {});

/** Reads a turn back from the model's message and the answers that followed it. */
export function readTurn(message: Message, answers: ReadonlyMap<string, ToolResponsePart>): Turn {
  const calls: Call[] = [];
  for (const part of message.content)
    if (isToolRequest(part)) calls.push(readCall(part, answers.get(part.toolRequest.ref)));
  const turn = newTurn(message.content, calls);
  if (!message.metadata) return turn;
  const { resumed, [STORED_KEY]: _stored, ...metadata } = message.metadata;
  return { ...turn, metadata: unlessEmpty(metadata), resumed: resumed as Json | undefined };
}

function readCall(part: ToolRequestPart, answer: ToolResponsePart | undefined): Call {
  const { name, ref, input } = part.toolRequest;
  const metadata = part.metadata ?? NO_METADATA;
  const id = typeof metadata.callId === 'string' ? metadata.callId : ref;
  const asks = 'interrupt' in metadata && metadata.interruptKind !== 'recall';
  const pauses = typeof metadata.pauses === 'number' ? metadata.pauses : asks ? 1 : 0;
  const call: Reading = newCall({ id, ref }, name, input as Json, foreignMetadata(part.metadata));
  call.pauses = pauses;
  call.phase = answer ? answered(answer) : readPhase(metadata, id, pauses);
  if (part.metadata) readProgress(call, part.metadata);
  return call;
}

/** A call while it is read. */
type Reading = { -readonly [Key in keyof Call]: Call[Key] };

const NO_METADATA: Metadata = {};

/** What the metadata says of a call besides its phase. */
function readProgress(call: Reading, metadata: Metadata): void {
  const { replacedInput, editedBy: by, grant, resumed, continues, passed, steps } = metadata;
  call.decided = readDecided(metadata);
  if ('replacedInput' in metadata)
    call.edit = { proposed: replacedInput as Json, by: typeof by === 'string' ? by : undefined };
  if (isObject(grant)) call.granted = grant as NonNullable<Call['granted']>;
  if ('resumed' in metadata) call.resumed = { value: resumed as Json, ...(continues === true && { continues: true }) };
  if (Array.isArray(passed)) call.approvals = passed as readonly RequestKind[];
  if (isObject(steps)) call.steps = new Map(Object.entries(steps as Record<string, Json>));
  if (!isUnderWay(call.phase)) return;
  const { runsWith, approvedPreview, policies, editors } = metadata;
  call.runsWith = runsWith as Json | undefined;
  if (isObject(approvedPreview)) call.approvedPreview = approvedPreview as Preview;
  if (Array.isArray(policies)) call.policies = policies as unknown as Policies;
  if (Array.isArray(editors)) call.editors = editors as readonly string[];
}

function readPhase(metadata: Metadata, id: string, pauses: number): Phase {
  if ('pendingOutput' in metadata) return { at: 'settled', result: readPending(metadata), isPending: true };
  const inner = isObject(metadata.inner) ? metadata.inner : undefined;
  const messages = inner?.messages as readonly Message[] | undefined;
  if (inner?.waiting === true && messages)
    return { at: 'sub-agent-waiting', requestId: requestId(id, pauses), messages };
  if ('interrupt' in metadata)
    return { at: 'waiting', request: requestIn(askedId({ id, pauses }, metadata.interruptKind), metadata) };
  if (metadata.started === true) return { at: 'started', since: undefined, progress: 'unknown', host: undefined };
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
  return {
    request: resolvedInterrupt === undefined ? undefined : requestIn('', { interrupt: resolvedInterrupt }),
    decision: isObject(made) ? (made as Decision) : { type: 'restart', resumed: true },
    at: undefined,
    earlier: Array.isArray(earlierDecisions) ? (earlierDecisions as readonly Metadata[]) : [],
    ids: [],
  };
}
