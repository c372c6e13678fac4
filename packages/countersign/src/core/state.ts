// The state of a run, and how each event changes it.
import { type Call, callOf, goesOnInside, innerMessages, NO_STEPS, type State, type Turn } from './call.ts';
import { InvariantError, UsageError } from './errors.ts';
import { type CallIds, type Decision, type Interrupt, type InterruptKind, isKnown, type RunEvent } from './event.ts';
import type { Json } from './json.ts';
import { isToolRequest, type Message, type ToolRequestPart } from './message.ts';
import { messagesOf } from './messages/load-messages.ts';
import { closeTurn, decisionMetadata, MAX_TURNS_KEY } from './messages/turn-messages.ts';
import { insideState, stillHeard, waitingParts } from './sub-agents.ts';

export type { State } from './call.ts';

/** Whoever reads what a later release wrote, here or inside a call, hears that this one does not know it. */
export function fold(state: State, event: RunEvent): State {
  if (!isKnown(event)) throw unknownEvent(event);
  switch (event.type) {
    case 'user-spoke': {
      if (state.turn) return { ...state, queued: [...state.queued, ...event.messages] };
      const { ended: _ended, ...rest } = state;
      return { ...rest, history: state.history.append(...event.messages), turnsUsed: 0 };
    }
    case 'model-replied':
      return foldReply(state, event);
    case 'call-started':
      return changeCall(state, event.callId, (call) => startCall(call, event));
    case 'call-went-on':
      return changeCall(state, event.callId, (call) => goOnInside(call, event));
    case 'call-committed':
      return changeCall(state, event.callId, (call) =>
        call.phase.at === 'started' ? { ...call, phase: { ...call.phase, committed: true } } : call,
      );
    case 'call-interrupted':
      return changeCall(state, event.callId, (call) => interruptCall(call, event));
    case 'call-held':
      return changeCall(state, event.callId, (call) => ({
        ...heldInside(keepInside(call, event.inner)),
        phase: { at: 'open', inner: event.inner ?? recordedInside(call) },
      }));
    case 'decision-made': {
      const decided = changeCall(state, event.callId, (call) => decideCall(call, event));
      return { ...decided, turn: { ...openTurn(decided), resumed: event.resumed } };
    }
    case 'step-done':
      return changeCall(state, event.callId, (call) => ({
        ...call,
        steps: new Map(call.steps).set(event.step, event.output),
      }));
    case 'call-settled':
      return closeIfSettled(
        changeCall(state, event.callId, (call) => ({ ...call, phase: { at: 'settled', result: event.result } })),
      );
    case 'call-ended-late':
      return endLate(state, event, event.path ?? []);
    case 'run-failed':
    case 'run-went-on':
      return state;
    case 'run-ended': {
      const ended = { reason: event.reason, ...(event.message !== undefined && { message: event.message }) };
      const last = state.history.last;
      if (event.reason !== 'max-turns' || !last) return { ...state, ended };
      // Whoever goes on from these messages gets a fresh allowance of turns.
      const marked = { ...last, metadata: { ...last.metadata, [MAX_TURNS_KEY]: true } };
      return { ...state, ended, history: state.history.withLast(marked), turnsUsed: 0 };
    }
  }
}

function unknownEvent({ v: version, type }: { readonly v: unknown; readonly type: unknown }): UsageError {
  return new UsageError(
    'invalid-history',
    { version, type },
    `The run has an event ${String(type)} of version ${String(version)}, which this release does not know. Update the library.`,
  );
}

const KEEPS_RESUMED: ReadonlySet<string> = new Set(['approval', 'unknown-outcome', 'unavailable']);

/** The calls of the turn that wait for a person. */
export function waitingCalls(state: State): readonly Call[] {
  return state.turn?.calls.filter((call) => call.phase.at === 'waiting') ?? [];
}

function foldReply(state: State, reply: RunEvent & { type: 'model-replied' }): State {
  const base = {
    ...state,
    turnsUsed: state.turnsUsed + 1,
    reply: {
      finishReason: reply.finishReason,
      ...(reply.finishMessage !== undefined && { finishMessage: reply.finishMessage }),
    },
  };
  if (reply.calls.length === 0)
    return { ...base, history: state.history.append({ role: 'model', content: reply.content }) };
  const requests = reply.content.filter(isToolRequest);
  return {
    ...base,
    refs: state.refs.add(reply.calls.map((call) => call.ref)),
    turn: { content: reply.content, calls: reply.calls.map((ids, index) => newCall(ids, requests[index])) },
  };
}

function newCall(ids: CallIds, request: ToolRequestPart | undefined): Call {
  if (!request) throw new InvariantError('invariant', { callId: ids.id }, `Call ${ids.id} is not in its reply.`);
  const { name, input } = request.toolRequest;
  const call: Call = { ...ids, name, input, phase: { at: 'open' }, pauses: 0, steps: NO_STEPS };
  return request.metadata ? { ...call, metadata: request.metadata } : call;
}

function startCall(call: Call, { at, inside, commits }: RunEvent & { type: 'call-started' }): Call {
  const { phase } = call;
  // Where a conversation inside goes on from is kept: it may have to go on from there again.
  const held = phase.at === 'open' && phase.inner ? ({ messages: phase.inner } as unknown as Json) : undefined;
  return {
    ...call,
    ...(held && { resumed: { value: held } }),
    ...takeUp(call),
    starts: (call.starts ?? 0) + 1,
    ...(inside && { startedInside: true as const }),
    phase: {
      at: 'started',
      ...(at !== undefined && { since: at }),
      ...(inside && { inside }),
      ...(commits && { commits }),
    },
  };
}

/** Whoever goes on anew inside does so with all that was decided meanwhile. */
function takeUp(call: Call): Partial<Call> {
  const { inside, decidedInside } = call;
  if (!inside || !decidedInside || decidedInside.later.length === 0) return {};
  const { now, later } = decidedInside;
  const resume = stillHeard(inside.state, mergeResumes(now === undefined || inside.begun ? later : [now, ...later]));
  if (isNothing(resume)) return { decidedInside: { ...decidedInside, later: [] } };
  return goOnWith(call, innerMessages(call), resume);
}

/** What happened inside was recorded when the fact was that tells of it. */
export function eventsInside({ inside, at }: RunEvent & { type: 'call-went-on' }): readonly RunEvent[] {
  return inside.map((event) => (event.at === undefined && at !== undefined ? { ...event, at } : event));
}

function goOnInside(call: Call, fact: RunEvent & { type: 'call-went-on' }): Call {
  const state = eventsInside(fact).reduce(fold, insideState(call));
  const known: Call = { ...call, inside: { state, begun: true } };
  if (call.phase.at !== 'waiting' || call.phase.interrupt.kind !== 'inside') return known;
  // A result came late, while it waits. It goes on if nothing else waits in it.
  const inner = messagesOf(state);
  return { ...known, phase: waitingParts(state, []).length > 0 ? { ...call.phase, inner } : { at: 'open', inner } };
}

const recordedInside = (call: Call): readonly Message[] => messagesOf(insideState(call));

/** Given as messages, the conversation inside is what they say. */
function keepInside({ inside, ...call }: Call, inner: readonly Message[] | undefined): Call {
  return inside && inner === undefined ? { ...call, inside } : call;
}

/** It goes on from where it stopped, as whoever goes on from messages does. */
function heldInside({ inside, ...call }: Call): Call {
  if (!inside) return call;
  const { ended: _ended, reply, ...state } = inside.state;
  // A last word that was of no use, such as an output that does not fit, is asked for anew: no model takes a conversation
  // that ends with its own reply.
  const isUseless = reply && !state.turn && state.history.last?.role === 'model';
  const history = isUseless ? state.history.withoutLast() : state.history;
  return { ...call, inside: { ...inside, state: { ...state, history } } };
}

/** Whoever is asked about the call next is told. */
function endLate(state: State, late: RunEvent & { type: 'call-ended-late' }, path: readonly string[]): State {
  const [outer, ...inner] = path;
  const callId = outer ?? late.callId;
  if (!callOf(state, callId)) return state;
  return changeCall(state, callId, (call) => {
    if (outer === undefined) return { ...call, endedLate: late.result };
    return call.inside ? { ...call, inside: { ...call.inside, state: endLate(call.inside.state, late, inner) } } : call;
  });
}

function interruptCall(call: Call, { interrupt, inner }: RunEvent & { type: 'call-interrupted' }): Call {
  const { resumed, phase, ...rest } = call;
  const asked = { ...rest, pauses: call.pauses + 1 };
  if (interrupt.kind === 'inside')
    return waitInside({ ...keepInside({ ...asked, phase }, inner), phase }, interrupt, inner ?? recordedInside(call));
  if (!KEEPS_RESUMED.has(interrupt.kind)) {
    const { inside: _inside, ...fresh } = asked;
    return { ...fresh, phase: { at: 'waiting', interrupt } };
  }
  // It may have to run exactly as it was started, or was to be.
  const held = phase.at === 'open' && phase.inner ? { value: { messages: phase.inner } as unknown as Json } : undefined;
  const goesOnWith = held ?? resumed;
  return { ...asked, ...(goesOnWith && { resumed: goesOnWith }), phase: { at: 'waiting', interrupt } };
}

/** A conversation inside that was decided on while it went on does not wait: it goes on with those decisions. */
function waitInside({ decidedInside, ...call }: Call, interrupt: Interrupt, inner: readonly Message[]): Call {
  const { later = [] } = decidedInside ?? {};
  const resume = call.inside ? stillHeard(call.inside.state, mergeResumes(later)) : mergeResumes(later);
  return isNothing(resume) ? { ...call, phase: { at: 'waiting', interrupt, inner } } : goOnWith(call, inner, resume);
}

const isNothing = (resume: Json): boolean => Object.keys(resume as object).length === 0;

function goOnWith({ inside, ...call }: Call, inner: readonly Message[], resume: Json): Call {
  return {
    ...call,
    ...(inside && { inside: { ...inside, begun: false } }),
    decidedInside: { now: resume, later: [] },
    resumed: { value: { messages: inner, resume } as unknown as Json },
    phase: { at: 'cleared' },
  };
}

function mergeResumes(resumes: readonly Json[]): Json {
  const merged: Record<string, Json[]> = {};
  for (const resume of resumes as readonly Record<string, readonly Json[]>[])
    for (const [verb, parts] of Object.entries(resume)) merged[verb] = [...(merged[verb] ?? []), ...parts];
  return merged;
}

function decideCall(call: Call, event: RunEvent & { type: 'decision-made' }): Call {
  const { decision } = event;
  if (decision.type === 'inside' && goesOnInside(call)) {
    const { later = [], ...before } = call.decidedInside ?? {};
    return { ...call, decidedInside: { ...before, later: [...later, decision.resume] } };
  }
  if (call.phase.at !== 'waiting' || call.phase.interrupt.id !== event.interruptId)
    throw new InvariantError('invariant', event, `Interrupt ${event.interruptId} does not wait for a decision.`);
  const { interrupt, inner } = call.phase;
  const before = call.decided && decisionMetadata(call.decided.decision);
  const decided: Call = {
    ...call,
    decided: { interrupt, decision },
    ...(before && { earlierDecisions: [...(call.earlierDecisions ?? []), before] }),
  };
  switch (decision.type) {
    case 'respond':
    case 'reject':
    case 'cancel':
      // The result follows as a fact of its own; until then the call cannot run.
      return decided;
    case 'restart':
      return {
        ...edited(decided, decision, interrupt),
        passed: withKind(call.passed, interrupt.kind),
        // A conversation inside goes on with what was decided in it.
        ...(!call.inside && { resumed: { value: decision.resumed } }),
        phase: { at: 'cleared' },
      };
    case 'approve':
      return {
        ...edited(decided, decision, interrupt),
        passed: withKind(call.passed, interrupt.kind),
        // At the gate, and for a second try, the body starts as it would have. A question that it asked itself is
        // answered with `true`.
        ...(interrupt.kind === 'interrupt' && { resumed: { value: true } }),
        phase: { at: 'cleared' },
      };
    case 'inside':
      return goOnWith(decided, inner ?? [], decision.resume);
  }
}

function withKind(passed: readonly InterruptKind[] = [], kind: InterruptKind): readonly InterruptKind[] {
  return passed.includes(kind) ? passed : [...passed, kind];
}

/** The call with the input that the person made of it, or as it was on their card; that is what runs. */
function edited(
  { editedBy, runsWith: _before, ...call }: Call,
  { input, bound, by }: Decision & { readonly type: 'restart' | 'approve' },
  card: Interrupt,
): Call {
  const { proposed = call.input } = call;
  const now: Call =
    input === undefined
      ? { ...call, ...(editedBy !== undefined && { editedBy }) }
      : { ...call, input, proposed, ...(by !== undefined && { editedBy: by }) };
  const binding = input === undefined && !card.readAnew ? card : bound;
  const { runsWith = now.input } = binding ?? {};
  return binding ? { ...now, runsWith } : now;
}

function changeCall(state: State, callId: string, change: (call: Call) => Call): State {
  const turn = openTurn(state);
  const index = turn.calls.findIndex((call) => call.id === callId);
  const call = turn.calls[index];
  if (!call) throw new InvariantError('invariant', { callId }, `Call ${callId} is not in the open turn.`);
  return { ...state, turn: { ...turn, calls: turn.calls.with(index, change(call)) } };
}

function openTurn(state: State): Turn {
  if (!state.turn) throw new InvariantError('invariant', {}, 'There is no open turn.');
  return state.turn;
}

function closeIfSettled(state: State): State {
  const { turn, queued, ...rest } = state;
  if (!turn?.calls.every((call) => call.phase.at === 'settled')) return state;
  const failed = turn.calls.flatMap((call) => {
    const result = call.phase.at === 'settled' ? call.phase.result : undefined;
    return result && result.type !== 'output' && result.mayHaveActed
      ? [{ name: call.name, ref: call.ref, text: result.text }]
      : [];
  });
  return {
    ...rest,
    queued: [],
    history: state.history.append(...closeTurn(turn), ...queued),
    mayHaveActed: failed.length > 0 ? [...state.mayHaveActed, ...failed] : state.mayHaveActed,
    turnsUsed: queued.length > 0 ? 0 : state.turnsUsed,
  };
}
