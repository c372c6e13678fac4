// A reply of the model, made safe to record: every call gets an id of ours and a `ref` that is unique in the run.
import { UsageError } from '../errors.ts';
import { toJson } from '../json.ts';
import type { Metadata, Part, ToolRequestPart } from '../messages/message.ts';
import { foreignMetadata } from '../messages/turn-messages.ts';
import { type CallIds, event, type FinishReason, type RunEvent } from './event.ts';
import type { GrowSet } from './grow.ts';
import { readUsage } from './usage.ts';

/** A request as a model sends it: it may lack an id, and its input may be anything. */
export type RawRequest = {
  readonly toolRequest: { readonly name: string; readonly ref?: string; readonly input?: unknown };
  readonly metadata?: Metadata;
};

export type RawReply = {
  readonly content: readonly (Part | RawRequest)[];
  /** Why it ended; `cut-off` and the like keep its calls from running. */
  readonly finishReason: 'stop' | 'tool-calls' | 'length' | 'blocked' | 'error' | 'cut-off' | 'other';
  readonly finishMessage?: string;
  /** The name of the model that replied; absent or empty if none did. */
  readonly model?: string;
  /** Recorded if its counts are valid. */
  readonly usage?: unknown;
};

/** The facts of a reply. `newId` gives a fresh id each time. */
export function replyEvents(reply: RawReply, used: GrowSet<string>, newId: () => string): readonly RunEvent[] {
  const calls: CallIds[] = [];
  const content = reply.content.some(isAnyRequest)
    ? reply.content.map(partReader(calls, used, newId))
    : (reply.content as readonly Part[]).map(said);
  const finishReason = FINISH[reply.finishReason];
  const message = reply.finishMessage;
  const usage = readUsage(reply.usage);
  const replied = event({
    type: 'model-replied',
    content,
    calls,
    ...(reply.model && { model: reply.model }),
    finishReason,
    ...(message !== undefined && { finishMessage: message }),
    ...(usage && { usage }),
  });
  return RUNNABLE.has(reply.finishReason) || calls.length === 0
    ? [replied]
    : [replied, ...notRun(calls, finishReason, message)];
}

const isAnyRequest = (part: Part | RawRequest): boolean => 'toolRequest' in part;

/** Only tools answer for tools: a tool response from the model is kept as data. */
function said(part: Part): Part {
  return 'toolResponse' in part ? { data: { toolResponse: part.toolResponse } } : saved(part);
}

/** Reads the parts of a reply in their order, and adds its calls to the list. */
function partReader(calls: CallIds[], used: GrowSet<string>, newId: () => string): (part: Part | RawRequest) => Part {
  const ids = new Set<string>();
  const taken = new Set<string>();
  /** A model may have used one of our ids for another call. */
  const unused = (id: string): string => (used.has(id) || taken.has(id) ? unused(`${id}_`) : id);
  return (part) => {
    if (!('toolRequest' in part) || 'toolResponse' in part) return said(part as Part);
    const id = newId();
    if (typeof id !== 'string' || id === '' || ids.has(id))
      throw new UsageError('invalid-options', { id }, `\`newId\` must give a new string each time, not ${String(id)}.`);
    const given = part.toolRequest.ref;
    const fits = typeof given === 'string' && given !== '' && !used.has(given) && !taken.has(given);
    const ref = fits ? given : unused(id);
    ids.add(id);
    taken.add(ref);
    calls.push({ id, ref });
    return request(part, ref, fits ? undefined : given);
  };
}

/** A reply that was cut off or blocked must not act: its calls are cancelled, and the run ends. */
function notRun(calls: readonly CallIds[], reason: FinishReason, message: string | undefined): readonly RunEvent[] {
  const text = 'This call was not run, because the reply that asked for it did not end properly.';
  return [
    ...calls.map((call) => event({ type: 'call-settled', callId: call.id, result: { type: 'cancelled', text } })),
    event({ type: 'run-ended', reason, ...(message !== undefined && { message }) }),
  ];
}

const FINISH: Readonly<Record<RawReply['finishReason'], FinishReason>> = {
  stop: 'stop',
  'tool-calls': 'stop',
  length: 'length',
  blocked: 'blocked',
  error: 'error',
  'cut-off': 'other',
  other: 'other',
};

const RUNNABLE: ReadonlySet<RawReply['finishReason']> = new Set(['stop', 'tool-calls', 'length', 'other']);

function request(part: RawRequest, ref: string, providerRef: string | undefined): ToolRequestPart {
  const { name, input } = part.toolRequest;
  const named = typeof name === 'string' && name !== '';
  const checked = named ? toJson(input === undefined ? {} : input) : NAMELESS;
  const toolRequest = { name: named ? name : 'unnamed', ref, input: checked.ok ? checked.value : null };
  if (part.metadata === undefined && providerRef === undefined && checked.ok) return { toolRequest };
  const metadata = {
    ...savable({ ...foreignMetadata(part.metadata), ...(providerRef !== undefined && { providerRef }) }),
    ...(!checked.ok && { invalidInput: checked.problem }),
  };
  return { toolRequest, ...(Object.keys(metadata).length > 0 && { metadata }) };
}

/** Keeps only what can be recorded, so that this process continues with the recorded reply. */
function saved(part: Part): Part {
  const whole = toJson(part);
  if (whole.ok) return whole.value as Part;
  const { metadata = {}, ...said } = part;
  const rest = toJson({ ...said, metadata: savable(metadata) });
  return rest.ok ? (rest.value as Part) : { data: { problem: rest.problem } };
}

/** The metadata without values that are not JSON. */
function savable(metadata: Metadata): Metadata {
  const kept = Object.entries(metadata).flatMap(([key, value]) => {
    const json = toJson(value);
    return value !== undefined && json.ok ? [[key, json.value]] : [];
  });
  return Object.fromEntries(kept);
}

/** The model reads this as invalid input, even if a tool is called `unnamed`. */
const NAMELESS = { ok: false, problem: 'the call names no tool' } as const;
