// The state of a run, and how each event changes it.
import { editorsIn, foldBallot, policiesIn, type RequestProgress } from '../authority/ballots.ts';
import { knowsPolicies } from '../authority/known-policies.ts';
import { InvariantError, UsageError } from '../errors.ts';
import { defined, type Json } from '../json.ts';
import { isToolRequest, type Part } from '../messages/message.ts';
import { closeTurn, decisionMetadata, MAX_TURNS_KEY } from '../messages/turn-messages.ts';
import { askedAnswer, boundOf, previewsOf, type Request, type RequestKind } from '../request/request.ts';
import {
  type Call,
  callOf,
  type MayHaveActed,
  newCall,
  newTurn,
  pendingRequestId,
  placeOf,
  type State,
  type Turn,
  unaskedId,
} from './call.ts';
import { answerFor, type CallIds, type Decision, isKnown, type Made, type RunEvent, usageIn } from './event.ts';
import { asksAgain, decidesSentBack, withRevisers } from './sent-back.ts';
import {
  advanceSubAgent,
  changeSubAgent,
  decideSubAgent,
  forgetRecord,
  holdSubAgent,
  isSubAgentActive,
  pauseSubAgent,
  resumedWith,
  startSubAgent,
} from './sub-agents.ts';
import { addUsage } from './usage.ts';

export type { State } from './call.ts';

/** Throws a `UsageError` on an event of a later release, here or in a sub-agent. */
export function fold(state: State, event: RunEvent): State {
  if (!isKnown(event) || !knowsPolicies(event)) {
    const { v: version, type } = event;
    const message = `The run has an event ${type} of version ${version}, which this release does not know. Update the library.`;
    throw new UsageError('invalid-history', { version, type }, message);
  }
  switch (event.type) {
    case 'user-spoke': {
      const { by: spokenBy, messages } = event;
      if (state.turn) return { ...state, spokenBy, queued: [...state.queued, ...messages] };
      const history = state.history.append(...messages);
      const outside = event.outside ?? state.outside;
      const sentBack = event.revises ? [event.revises] : state.sentBack;
      return { ...state, ended: undefined, spokenBy, outside, history, sentBack, turnsUsed: 0 };
    }
    case 'model-replied':
      return foldReply(state, event);
    case 'call-granted':
      return changeCall(state, event.callId, (call) => grantCall(call, event));
    case 'call-judged':
      if (!event.observed) return state;
      return changeCall(state, event.callId, (call) => ({ ...call, unasked: unaskedId(call) }));
    case 'call-started':
      return changeCall(state, event.callId, (call) => startCall(call, event));
    case 'call-renewed':
      return changeCall(state, event.callId, (call) => renewCall(call, event));
    case 'call-cleared':
      return changeCall(state, event.callId, (call) => ({
        ...call,
        approvals:
          event.takesGrant || call.approvals.includes('approval') ? call.approvals : [...call.approvals, 'approval'],
        unasked: event.allowed ? unaskedId(call) : call.unasked,
        phase: CLEARED,
      }));
    case 'call-frozen':
      return changeCall(state, event.callId, (call) => ({ ...call, frozen: event.freeze }));
    case 'run-unfrozen':
      return unfreeze(state);
    case 'call-went-on':
      return {
        ...changeCall(state, event.callId, (call) => advanceSubAgent(call, event, fold)),
        usage: addUsage(state.usage, usageIn(event)),
      };
    case 'call-committed':
      return changeCall(state, event.callId, commitCall);
    case 'call-interrupted': {
      if (!state.sentBack) return changeCall(state, event.callId, (call) => interruptCall(call, event));
      const asks = (call: Call) => interruptCall(withRevisers(state, call, event), event);
      return asksAgain(changeCall(state, event.callId, asks), event);
    }
    case 'call-held':
      return changeCall(state, event.callId, (call) => holdSubAgent(call, event.inner));
    case 'decision-made': {
      const progress = state.ballots?.get(event.requestId);
      const decided = changeCall(state, event.callId, (call) => decideCall(call, event, progress), event.resumed);
      const sendsBack = event.decision.type === 'revise';
      return sendsBack || state.sentBack ? decidesSentBack(state, decided, event) : decided;
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
    case 'vote-cast':
    case 'request-escalated':
    case 'request-assigned':
    case 'request-commented':
    case 'votes-withdrawn':
    case 'policy-applied':
      return { ...state, ballots: foldBallot(state.ballots, event) };
    case 'run-failed':
    case 'run-went-on':
      return state;
    case 'run-ended': {
      const ended = { reason: event.reason, message: event.message };
      const last = state.history.last;
      if (event.reason !== 'max-turns' || !last) return { ...state, ended };
      // A run that continues from these messages may use `maxTurns` again.
      const marked = { ...last, metadata: { ...last.metadata, [MAX_TURNS_KEY]: true } };
      return { ...state, ended, history: state.history.withLast(marked), turnsUsed: 0 };
    }
  }
}

/** The state without the start of a call, which a freeze kept from starting. `before`: the call as it was. */
export function withoutStart(
  state: State,
  before: Call,
  { freeze: frozen }: RunEvent & { type: 'call-frozen' },
): State {
  return callOf(state, before.id) ? changeCall(state, before.id, () => ({ ...before, frozen })) : state;
}

export function waitingCalls(state: State): readonly Call[] {
  return state.turn?.calls.filter((call) => pendingRequestId(call) !== undefined) ?? [];
}

function foldReply(state: State, event: RunEvent & { type: 'model-replied' }): State {
  const { content, calls, finishReason, finishMessage } = event;
  const turnsUsed = state.turnsUsed + 1;
  const reply = { finishReason, finishMessage };
  const usage = addUsage(state.usage, usageIn(event));
  if (calls.length === 0)
    return { ...state, turnsUsed, reply, usage, history: state.history.append({ role: 'model', content }) };
  const turn = newTurn(content, requestedCalls(content, calls));
  return { ...state, turnsUsed, reply, usage, refs: state.refs.add(calls.map(refOf)), turn };
}

const refOf = ({ ref }: CallIds): string => ref;

function requestedCalls(content: readonly Part[], ids: readonly CallIds[]): readonly Call[] {
  const calls: Call[] = [];
  for (const part of content) {
    const own = ids[calls.length];
    if (!own || !isToolRequest(part)) continue;
    const { name, input } = part.toolRequest;
    calls.push(newCall(own, name, input, part.metadata));
  }
  const missing = ids[calls.length];
  if (missing) throw new InvariantError('invariant', { callId: missing.id }, `Call ${missing.id} is not in its reply.`);
  return calls;
}

/** As an approval of the input that the grant was checked with. */
function grantCall(call: Call, { grantId, amount, by, runsWith, policies }: RunEvent & { type: 'call-granted' }): Call {
  const granted = defined({ id: grantId, amount, by });
  const input = runsWith === undefined ? call.input : runsWith;
  const approvals: Call['approvals'] = [...call.approvals, 'approval'];
  return { ...call, policies, granted, unasked: unaskedId(call), runsWith: input, approvals, phase: CLEARED };
}

const CLEARED: Call['phase'] = { at: 'cleared' };

function startCall(call: Call, { at, inside, commits, host }: RunEvent & { type: 'call-started' }): Call {
  const started = startSubAgent(call);
  const progress = inside ? 'sub-agent' : commits ? 'uncommitted' : 'unknown';
  return {
    ...started,
    starts: call.starts + 1,
    subAgent: inside ? { ...started.subAgent, isAgent: true } : started.subAgent,
    phase: { at: 'started', since: at, progress, host },
  };
}

/** Changes nothing once the start has come to an end, or was granted to another program. */
function renewCall(call: Call, { host }: RunEvent & { type: 'call-renewed' }): Call {
  const { phase } = call;
  const isHeld = phase.at === 'started' && phase.host?.start === host.start;
  return isHeld ? { ...call, phase: { ...phase, host } } : call;
}

function commitCall(call: Call): Call {
  const { phase } = call;
  const isFirst = phase.at === 'started' && phase.progress === 'uncommitted';
  return isFirst ? { ...call, phase: { ...phase, progress: 'committed' } } : call;
}

/** The next card about the call shows the late result. `path`: the calls whose sub-agents it is in. */
function endLate(state: State, late: RunEvent & { type: 'call-ended-late' }, path: readonly string[]): State {
  const [outer, ...rest] = path;
  const callId = outer ?? late.callId;
  if (!callOf(state, callId)) return state;
  return changeCall(state, callId, (call) =>
    outer === undefined
      ? { ...call, endedLate: late.result }
      : changeSubAgent(call, (inner) => endLate(inner, late, rest)),
  );
}

function interruptCall(call: Call, { request, inner }: RunEvent & { type: 'call-interrupted' }): Call {
  if (request.kind === 'inside') return { ...pauseSubAgent(call, request.id, inner), approvedPreview: undefined };
  // It stays approved, or granted, while it waits.
  if (request.kind === 'recall') return { ...call, phase: { at: 'waiting', request } };
  const { phase, resumed, decided } = call;
  // A person is asked instead, so a grant that was not used no longer counts.
  const loses = call.granted !== undefined && call.starts === 0;
  const isAgain = call.approvals.includes('recall');
  const asked: Call = {
    ...call,
    granted: loses ? undefined : call.granted,
    unasked: call.starts === 0 ? undefined : call.unasked,
    approvals:
      loses || isAgain
        ? call.approvals.filter((kind) => kind !== 'recall' && !(loses && kind === 'approval'))
        : call.approvals,
    pauses: call.pauses + 1,
    resumed: undefined,
    // The earlier decisions let nothing run.
    decided: decided && ASKS_AGAIN.has(request.kind) ? { ...decided, ids: [] } : decided,
    phase: { at: 'waiting', request },
  };
  // A body that asks for itself has begun, so the preview from before it no longer applies.
  if (!KEEPS_RESUMED.has(request.kind)) return { ...forgetRecord(asked), approvedPreview: undefined };
  // If a person lets the call run, it gets the same value to continue with.
  const resumesWith = phase.at === 'sub-agent-held' ? resumedWith(phase.messages) : resumed;
  return resumesWith ? { ...asked, resumed: resumesWith } : asked;
}

const ASKS_AGAIN: ReadonlySet<RequestKind> = new Set(['approval', 'unavailable']);

/** Requests about the call as a whole: `resumed` stays the same. */
const KEEPS_RESUMED: ReadonlySet<RequestKind> = new Set(['approval', 'doubt', 'unavailable']);

function decideCall(
  call: Call,
  event: RunEvent & { type: 'decision-made' },
  progress: RequestProgress | undefined,
): Call {
  const { decision } = event;
  if (decision.type === 'inside' && isSubAgentActive(call)) return decideSubAgent(call, decision);
  if (pendingRequestId(call) !== event.requestId)
    throw new InvariantError('invariant', event, `Interrupt ${event.requestId} does not wait for a decision.`);
  const request = call.phase.at === 'waiting' ? call.phase.request : undefined;
  // Its time has passed: it starts as the people decided.
  if (request?.kind === 'recall' && decision.type === 'approve')
    return {
      ...call,
      runsWith: call.runsWith === undefined ? boundOf(request).runsWith : call.runsWith,
      approvals: [...call.approvals, 'recall'],
      phase: CLEARED,
    };
  const { decided: before } = call;
  const earlier = before ? [...before.earlier, decisionMetadata(before.decision)] : [];
  const decided: Call = {
    ...call,
    policies: policiesIn(progress, request) ?? call.policies,
    editors: editorsAfter(call, progress, decision),
    decided: { request, decision, at: event.at, earlier, ids: idsAfter(call, event, request) },
  };
  const answer = answerFor(request, decision);
  if (answer) return clear(decided, { type: 'approve' }, request, { value: answer });
  switch (decision.type) {
    case 'respond':
    case 'reject':
    case 'cancel':
    case 'revise':
      // The result is a separate event; until then the call cannot run.
      return decided;
    case 'restart': {
      // A recorded sub-agent continues with the decisions on its requests.
      const isRecorded = call.subAgent?.recorded !== undefined;
      return clear(decided, decision, request, isRecorded ? undefined : { value: decision.resumed });
    }
    case 'approve':
      // At the gate, and for a second try, the body starts as it would have. If the body asked, the answer is `true`.
      return clear(decided, decision, request, request?.kind === 'interrupt' ? { value: true } : undefined);
    case 'inside':
      return decideSubAgent(decided, decision);
  }
}

/** What comes of the call comes of each request that let it run, and of the answer that says what came of it. */
function idsAfter(
  { decided, subAgent }: Call,
  { decision, requestId }: RunEvent & { type: 'decision-made' },
  request: Request | undefined,
): readonly string[] {
  const ids = decided?.ids ?? [];
  switch (decision.type) {
    case 'approve':
    case 'restart':
      return [...ids, requestId];
    case 'respond':
      return request?.kind === 'doubt' || askedAnswer(request) ? [...ids, requestId] : ids;
    case 'inside':
      // Of a sub-agent without a record, only the end is known.
      return subAgent?.recorded ? ids : [...ids, ...decision.decisions.flatMap(runsInside)];
    default:
      return ids;
  }
}

const runsInside = ({ on, decision: { type } }: Made): readonly string[] =>
  on.requestId !== undefined && (type === 'approve' || type === 'restart') ? [on.requestId] : [];

/** Everyone who has edited the input, with those of this request and of the decision on it. */
function editorsAfter(
  { editors }: Call,
  progress: RequestProgress | undefined,
  decision: Decision,
): readonly string[] | undefined {
  const edits = (decision.type === 'approve' || decision.type === 'restart') && decision.input !== undefined;
  const last = edits ? (decision.editedBy ?? decision.by) : undefined;
  const more = [...(progress ? editorsIn(progress) : []), ...(last === undefined ? [] : [last])];
  return more.length === 0 ? editors : [...new Set([...(editors ?? []), ...more])];
}

type RunDecision = Decision & { readonly type: 'restart' | 'approve' };

/** Binds the call to the edited input, or to the input as the card showed it, and lets it run. */
function clear(call: Call, decision: RunDecision, card: Request | undefined, resumed: Call['resumed']): Call {
  const { approvals } = call;
  const { input = call.input, bound, by, editedBy = by } = decision;
  const isEdited = decision.input !== undefined;
  const shown = card && boundOf(card);
  const binding = !isEdited && shown && !shown.readAnew ? shown : bound;
  const previews = card && previewsOf(card);
  return {
    ...call,
    input,
    edit: isEdited ? { proposed: call.edit ? call.edit.proposed : call.input, by: editedBy } : call.edit,
    runsWith: binding && (binding.runsWith === undefined ? input : binding.runsWith),
    approvals: !card || approvals.includes(card.kind) ? approvals : [...approvals, card.kind],
    approvedPreview: previews ? previews.preview : call.approvedPreview,
    resumed: resumed ?? call.resumed,
    phase: CLEARED,
  };
}

function unfreeze(state: State): State {
  if (!state.turn) return state;
  const calls = state.turn.calls.map((call) => changeSubAgent({ ...call, frozen: undefined }, unfreeze));
  return { ...state, turn: { ...state.turn, calls } };
}

/** `resumed`: the note of a decision, which the turn keeps. */
function changeCall(state: State, callId: string, change: (call: Call) => Call, resumed?: Json): State {
  const turn = openTurn(state);
  const index = placeOf(turn, callId);
  const call = turn.calls[index];
  if (!call) throw new InvariantError('invariant', { callId }, `Call ${callId} is not in the open turn.`);
  const calls = turn.calls.with(index, change(call));
  return { ...state, turn: { ...turn, calls, resumed: resumed === undefined ? turn.resumed : resumed } };
}

function openTurn(state: State): Turn {
  if (!state.turn) throw new InvariantError('invariant', {}, 'There is no open turn.');
  return state.turn;
}

function closeIfSettled(state: State): State {
  const { turn, queued } = state;
  // From the end, because calls mostly settle in order.
  if (!turn || turn.calls.findLast((call) => call.phase.at !== 'settled')) return state;
  const failed: MayHaveActed[] = [];
  let { failures } = state;
  for (const { phase, name, ref, decided, granted, unasked } of turn.calls) {
    if (phase.at !== 'settled' || phase.result.type === 'output') continue;
    const { type, text, mayHaveActed } = phase.result;
    if (mayHaveActed) failed.push({ name, ref, text });
    if ((decided ?? granted ?? unasked) && (type === 'error' || mayHaveActed)) failures += 1;
  }
  const [reply, results] = closeTurn(turn);
  return {
    ...state,
    turn: undefined,
    ballots: undefined,
    queued: [],
    history: state.history.append(reply, results, ...queued),
    mayHaveActed: failed.length > 0 ? [...state.mayHaveActed, ...failed] : state.mayHaveActed,
    failures,
    turnsUsed: queued.length > 0 ? 0 : state.turnsUsed,
  };
}
