// Sub-agents: the conversation inside a call, how events change it, and which requests wait in it.

import { isObject, type Json } from '../json.ts';
import { loadMessages, messagesOf } from '../messages/load-messages.ts';
import { isToolRequest, type Message, type Part, type ToolRequestPart } from '../messages/message.ts';
import { requestPart } from '../messages/turn-messages.ts';
import { type Call, isInDoubt, type State, type SubAgent } from './call.ts';
import type { Decision, Made, RunEvent } from './event.ts';
import { addressOf, refsOf } from './made.ts';

/** The state of the conversation: recorded, or read from its messages. */
export function subAgentState(call: Call): State {
  return call.subAgent?.recorded?.state ?? loadMessages(lastPause(call)).state;
}

function lastPause({ phase, resumed }: Call): readonly Message[] {
  if (phase.at === 'sub-agent-waiting' || phase.at === 'sub-agent-held') return phase.messages;
  return (resumed?.value as { readonly messages?: readonly Message[] } | undefined)?.messages ?? [];
}

/** The sub-agent has begun and does not wait as a whole. Its requests can be decided meanwhile. */
export function isSubAgentActive({ phase, subAgent }: Call): boolean {
  if (!subAgent?.decisions && !subAgent?.recorded) return false;
  return phase.at !== 'settled' && phase.at !== 'sub-agent-waiting';
}

/** The call has a sub-agent that has begun and is not over. */
export function hasSubAgent(call: Call): boolean {
  const { at } = call.phase;
  return isSubAgentActive(call) || at === 'sub-agent-held' || at === 'sub-agent-waiting';
}

/** Whenever the sub-agent is started, it continues with everything that was decided by then. */
export function startSubAgent(call: Call): Call {
  const { phase, subAgent } = call;
  // It may have to continue from the same place again.
  const held = phase.at === 'sub-agent-held' ? { ...call, resumed: resumedWith(phase.messages) } : call;
  const { recorded, decisions } = subAgent ?? {};
  if (!recorded || !decisions || decisions.later.length === 0) return held;
  const open = withoutSettled(recorded.state, pendingDecisions(subAgent));
  if (open.length === 0) return { ...held, subAgent: { ...subAgent, decisions: { ...decisions, later: [] } } };
  return continueWith(call, lastPause(call), open);
}

export function advanceSubAgent(
  call: Call,
  progress: RunEvent & { type: 'call-went-on' },
  fold: (state: State, event: RunEvent) => State,
): Call {
  const state = subAgentEvents(progress).reduce(fold, subAgentState(call));
  const advanced: Call = { ...call, subAgent: { ...call.subAgent, recorded: { state, begun: true } } };
  if (call.phase.at !== 'sub-agent-waiting') return advanced;
  // A result came late. If nothing else waits, the sub-agent continues.
  const messages = messagesOf(state);
  const phase = waitingParts(state, []).length > 0 ? call.phase : ({ at: 'sub-agent-held' } as const);
  return { ...advanced, phase: { ...phase, messages } };
}

/** The events of a sub-agent have the time of the event that carries them. */
export function subAgentEvents({ inside, at }: RunEvent & { type: 'call-went-on' }): readonly RunEvent[] {
  return inside.map((event) => (event.at === undefined && at !== undefined ? { ...event, at } : event));
}

export function changeSubAgent(call: Call, change: (state: State) => State): Call {
  const recorded = call.subAgent?.recorded;
  if (!recorded) return call;
  return { ...call, subAgent: { ...call.subAgent, recorded: { ...recorded, state: change(recorded.state) } } };
}

/** The sub-agent stopped in the middle and continues as from messages. */
export function holdSubAgent(call: Call, given: readonly Message[] | undefined): Call {
  const messages = given ?? messagesOf(subAgentState(call));
  return { ...changeSubAgent(withRecordUnless(given, call), resumable), phase: { at: 'sub-agent-held', messages } };
}

/** A last reply that was of no use, such as invalid output, is dropped: no model accepts its own reply as the last. */
function resumable(state: State): State {
  const isUseless = state.reply && !state.turn && state.history.last?.role === 'model';
  const history = isUseless ? state.history.withoutLast() : state.history;
  return { ...state, ended: undefined, reply: undefined, history };
}

/** The sub-agent asks a person, unless the requests were decided while it ran: then it continues at once. */
export function pauseSubAgent(call: Call, requestId: string, given: readonly Message[] | undefined): Call {
  const messages = given ?? messagesOf(subAgentState(call));
  const { decisions, ...subAgent } = withRecordUnless(given, call).subAgent ?? {};
  const later = decisions?.later ?? [];
  const open = subAgent.recorded ? withoutSettled(subAgent.recorded.state, later) : later;
  const paused: Call = { ...call, resumed: undefined, pauses: call.pauses + 1, subAgent };
  return open.length === 0
    ? { ...paused, phase: { at: 'sub-agent-waiting', requestId, messages } }
    : continueWith(paused, messages, open);
}

function withRecordUnless(given: readonly Message[] | undefined, call: Call): Call {
  return given === undefined ? call : forgetRecord(call);
}

/** Forgets the recorded conversation: the body asks for itself, or begins again. */
export function forgetRecord(call: Call): Call {
  if (!call.subAgent?.recorded) return call;
  const { recorded: _recorded, ...subAgent } = call.subAgent;
  return { ...call, subAgent };
}

/** Decides requests of the sub-agent. If it is running, it hears of the decisions when it next pauses. */
export function decideSubAgent(call: Call, { decisions: made }: Decision & { type: 'inside' }): Call {
  if (call.phase.at === 'sub-agent-waiting') return continueWith(call, call.phase.messages, made);
  const { later = [], ...decisions } = call.subAgent?.decisions ?? {};
  return { ...call, subAgent: { ...call.subAgent, decisions: { ...decisions, later: [...later, ...made] } } };
}

function continueWith(call: Call, messages: readonly Message[], decisions: readonly Made[]): Call {
  const { recorded } = call.subAgent ?? {};
  return {
    ...call,
    subAgent: {
      ...call.subAgent,
      ...(recorded && { recorded: { ...recorded, begun: false } }),
      decisions: { now: decisions, later: [] },
    },
    resumed: resumedWith(messages, decisions),
    phase: { at: 'cleared' },
  };
}

export function resumedWith(messages: readonly Message[], decisions?: readonly Made[]): NonNullable<Call['resumed']> {
  return { value: { messages, ...(decisions && { decisions }) } as unknown as Json, continues: true };
}

/** Drops decisions on calls that are over: another decision, made at the same time, has ended them. */
function withoutSettled(state: State, made: readonly Made[]): readonly Made[] {
  if (made.length === 0) return made;
  const open = new Set(openRefs(state, []));
  return made.filter(({ on }) => open.has(refsOf(on)));
}

/** The calls of a conversation and of its sub-agents that are not over, as `refsOf` gives them. */
function openRefs({ turn }: State, path: readonly string[]): readonly string[] {
  return (turn?.calls ?? []).flatMap((call) => {
    if (call.phase.at === 'settled') return [];
    const own = [...path, call.ref];
    return [refsOf({ path, ref: call.ref }), ...(hasSubAgent(call) ? openRefs(subAgentState(call), own) : [])];
  });
}

/** The requests that wait in a conversation and in its sub-agents, with the `path` that leads to them. */
export function waitingParts(state: State, path: readonly string[]): readonly ToolRequestPart[] {
  return (state.turn?.calls ?? []).flatMap((call) => {
    const inside = waitingInSubAgent(call, path);
    if (call.phase.at !== 'waiting') return inside;
    const part = requestPart(call);
    return [path.length > 0 ? { ...part, metadata: { ...part.metadata, path } } : part, ...inside];
  });
}

export function waitingInSubAgent(call: Call, path: readonly string[]): readonly ToolRequestPart[] {
  if (!isSubAgentActive(call) && call.phase.at !== 'sub-agent-waiting') return [];
  const deeper = [...path, call.ref];
  const decided = decidedRefs(call);
  return waitingParts(subAgentState(call), deeper).filter(
    (part) => !decided.has(refsOf(addressOf(part), deeper.length)),
  );
}

/** Decided requests whose decisions are not part of the recorded conversation yet, as `refsOf` gives them. */
export function decidedRefs({ phase, subAgent }: Call): ReadonlySet<string> {
  if (!subAgent?.decisions || phase.at === 'sub-agent-waiting') return NONE;
  return new Set(pendingDecisions(subAgent).map(({ on }) => refsOf(on)));
}

const NONE: ReadonlySet<string> = new Set();

function pendingDecisions({ recorded, decisions }: SubAgent = {}): readonly Made[] {
  const { now = [], later = [] } = decisions ?? {};
  return recorded?.begun ? later : [...now, ...later];
}

/** The messages of a sub-agent that refused its decisions, with new ids for those requests. */
export function askedAgain(messages: readonly Message[], { subAgent }: Call): readonly Message[] {
  const decided = new Set(subAgent?.decisions?.now?.map(({ on }) => refsOf(on)));
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
    if (!decided.has(refsOf({ path, ref })) || typeof pauses !== 'number') return part;
    return { ...part, metadata: { ...metadata, pauses: pauses + 1 } };
  });
  return messages.with(at, { ...open, content });
}

/** The call, or one in its sub-agent, was started and has no result, and no person is asked about it yet. */
export function isUnaskedDoubt(call: Call): boolean {
  return hasNoResult(call) || callsInside(call).some(isUnaskedDoubt);
}

/** The outcome of a call in the sub-agent is unknown, whether or not a person is asked about it. */
export function isSubAgentInDoubt(call: Call): boolean {
  return callsInside(call).some((inner) => hasNoResult(inner) || isInDoubt(inner) || isSubAgentInDoubt(inner));
}

const hasNoResult = ({ phase }: Call): boolean => phase.at === 'started' && phase.progress !== 'sub-agent';

function callsInside(call: Call): readonly Call[] {
  return hasSubAgent(call) ? (subAgentState(call).turn?.calls ?? []) : [];
}
