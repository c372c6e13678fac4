// The conversation inside a call: what is known of it, and what waits in it.
import { type Call, goesOnInside, innerMessages, type State } from './call.ts';
import { isObject, type Json } from './json.ts';
import { isToolRequest, type Message, type Part, type ToolRequestPart, type ToolResponsePart } from './message.ts';
import { loadMessages } from './messages/load-messages.ts';
import { requestPart } from './messages/turn-messages.ts';

/** How it stands, as far as it is on record. */
export function insideState(call: Call): State {
  return call.inside?.state ?? loadMessages(innerMessages(call)).state;
}

/** The questions that wait in a conversation, those inside its calls included, with the `path` that leads to them. */
export function waitingParts(state: State, path: readonly string[]): readonly ToolRequestPart[] {
  return (state.turn?.calls ?? []).flatMap((call) => {
    const { phase } = call;
    const asks = phase.at === 'waiting' && phase.interrupt.kind !== 'inside';
    return [...(asks ? [withPath(requestPart(call), path)] : []), ...waitingInside(call, path)];
  });
}

/** The questions inside a call that nobody has decided. */
export function waitingInside(call: Call, path: readonly string[]): readonly ToolRequestPart[] {
  const { phase } = call;
  if (!goesOnInside(call) && (phase.at !== 'waiting' || phase.interrupt.kind !== 'inside')) return [];
  const inner = [...path, call.ref];
  const decided = decidedRefs(call);
  return waitingParts(insideState(call), inner).filter((part) => !decided.has(refsOf(part, inner.length)));
}

function withPath(part: ToolRequestPart, path: readonly string[]): ToolRequestPart {
  return path.length > 0 ? { ...part, metadata: { ...part.metadata, path } } : part;
}

/** What was decided inside and is not part of the record of the conversation yet, as `refsOf` gives it. */
export function decidedRefs({ phase, inside, decidedInside }: Call): ReadonlySet<string> {
  if (!decidedInside || (phase.at === 'waiting' && phase.interrupt.kind === 'inside')) return NONE;
  const { now, later } = decidedInside;
  const resumes = now === undefined || inside?.begun ? later : [now, ...later];
  return new Set(resumes.flatMap(decisionRefs));
}

/** What a resumption of the conversation inside is about, as `refsOf` gives it. */
export function decisionRefs(resume: Json): readonly string[] {
  return decidedParts(resume).map((part) => refsOf(part));
}

/**
 * A resumption of the conversation that stands like this, without what was decided about calls that are over by now, or inside
 * of such. Somebody else decided about what they were part of in the same moment.
 */
export function stillHeard(state: State, resume: Json): Json {
  const verbs = Object.entries((isObject(resume) ? resume : {}) as Readonly<Record<string, readonly Json[]>>);
  return Object.fromEntries(
    verbs.flatMap(([verb, parts]) => {
      const heard = parts.filter((part) => isOpen(state, pathTo(part as never)));
      return heard.length > 0 ? [[verb, heard]] : [];
    }),
  );
}

function isOpen({ turn }: State, [ref, ...inner]: readonly string[]): boolean {
  const call = turn?.calls.find((call) => call.ref === ref);
  if (!call || call.phase.at === 'settled') return false;
  return inner.length === 0 || isOpen(insideState(call), inner);
}

const NONE: ReadonlySet<string> = new Set();

function decidedParts(resume: Json): readonly (ToolRequestPart | ToolResponsePart)[] {
  if (!isObject(resume)) return [];
  return Object.values(resume).flatMap((parts) => (Array.isArray(parts) ? (parts as never[]) : []));
}

/** The refs that lead to a call, and its own, as one text; those of the first `outside` conversations are left out. */
export function refsOf(part: ToolRequestPart | ToolResponsePart, outside = 0): string {
  return JSON.stringify(pathTo(part).slice(outside));
}

function pathTo(part: ToolRequestPart | ToolResponsePart): readonly string[] {
  const { path } = (part.metadata ?? {}) as { readonly path?: unknown };
  const { ref } = 'toolRequest' in part ? part.toolRequest : part.toolResponse;
  return [...(Array.isArray(path) ? path : []), ref];
}

/** A conversation inside of which what was decided was refused: the same, where those questions have a new id. */
export function askedAgain(messages: readonly Message[], { decidedInside }: Call): readonly Message[] {
  const decided = new Set(decisionRefs(decidedInside?.now ?? null));
  return withNextPause(messages, decided, []);
}

function withNextPause(
  messages: readonly Message[],
  decided: ReadonlySet<string>,
  path: readonly string[],
): readonly Message[] {
  const at = messages.findLastIndex(({ role }) => role === 'model');
  const open = messages[at];
  if (!open) return messages;
  const content = open.content.map((part): Part => {
    if (!isToolRequest(part)) return part;
    const { ref } = part.toolRequest;
    const { inner, pauses = 1, ...metadata } = part.metadata ?? {};
    if (isObject(inner) && Array.isArray(inner.messages)) {
      const deeper = { ...inner, messages: withNextPause(inner.messages, decided, [...path, ref]) };
      return { ...part, metadata: { ...part.metadata, inner: deeper } };
    }
    if (!decided.has(JSON.stringify([...path, ref])) || typeof pauses !== 'number') return part;
    return { ...part, metadata: { ...metadata, pauses: pauses + 1 } };
  });
  return messages.with(at, { ...open, content });
}

/** The call has a conversation inside that has begun and is not over. */
export function isConversation(call: Call): boolean {
  const { phase } = call;
  if (goesOnInside(call) || (phase.at === 'open' && phase.inner !== undefined)) return true;
  return phase.at === 'waiting' && phase.interrupt.kind === 'inside';
}

function callsInside(call: Call): readonly Call[] {
  return isConversation(call) ? (insideState(call).turn?.calls ?? []) : [];
}

const hasNoResult = ({ phase }: Call): boolean => phase.at === 'started' && !phase.inside;

/** A person is asked how it ended. */
export const isInDoubt = ({ phase }: Call): boolean =>
  phase.at === 'waiting' && phase.interrupt.kind === 'unknown-outcome';

/** It, or something inside, was started and has no result, and nobody is asked about it yet. */
export function isUnaskedDoubt(call: Call): boolean {
  return hasNoResult(call) || callsInside(call).some(isUnaskedDoubt);
}

/** Something inside was started, and nobody knows how it ended. */
export function isInDoubtInside(call: Call): boolean {
  return callsInside(call).some((inner) => hasNoResult(inner) || isInDoubt(inner) || isInDoubtInside(inner));
}
