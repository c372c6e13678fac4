// The state of a run, and how each event changes it.
import { editorsIn, foldBallot, policiesIn, type RequestProgress } from '../authority/ballots.ts';
import { knowsPolicies } from '../authority/known-policies.ts';
import { InvariantError, UsageError } from '../errors.ts';
import { defined } from '../json.ts';
import { isToolRequest, type ToolRequestPart } from '../messages/message.ts';
import { closeTurn, decisionMetadata, MAX_TURNS_KEY } from '../messages/turn-messages.ts';
import { boundOf, previewsOf, type Request, type RequestKind } from '../request/request.ts';
import { type Call, callOf, newCall, newTurn, pendingRequestId, placeOf, type State, type Turn } from './call.ts';
import { answerFor, type CallIds, type Decision, isKnown, type RunEvent, usageIn } from './event.ts';
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
      const { ended: _ended, spokenBy: _earlier, ...before } = state;
      const rest = { ...before, ...defined({ spokenBy: event.by }) };
      if (state.turn)
        return { ...rest, ...defined({ ended: state.ended }), queued: [...state.queued, ...event.messages] };
      const history = state.history.append(...event.messages);
      return { ...rest, ...defined({ outside: event.outside }), history, turnsUsed: 0 };
    }
    case 'model-replied':
      return foldReply(state, event);
    case 'call-granted':
      return changeCall(state, event.callId, (call) => grantCall(call, event));
    case 'call-started':
      return changeCall(state, event.callId, (call) => startCall(call, event));
    case 'call-cleared':
      return changeCall(state, event.callId, (call) => ({
        ...call,
        approvals:
          event.takesGrant || call.approvals.includes('approval') ? call.approvals : [...call.approvals, 'approval'],
        phase: { at: 'cleared' },
      }));
    case 'call-went-on':
      return {
        ...changeCall(state, event.callId, (call) => advanceSubAgent(call, event, fold)),
        ...usageAfter(state, event),
      };
    case 'call-committed':
      return changeCall(state, event.callId, commitCall);
    case 'call-interrupted':
      return changeCall(state, event.callId, (call) => interruptCall(call, event));
    case 'call-held':
      return changeCall(state, event.callId, (call) => holdSubAgent(call, event.inner));
    case 'decision-made': {
      const progress = state.ballots?.get(event.requestId);
      const decided = changeCall(state, event.callId, (call) => decideCall(call, event, progress));
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
    case 'vote-cast':
    case 'request-escalated':
    case 'request-assigned':
    case 'policy-applied':
      return { ...state, ballots: foldBallot(state.ballots, event) };
    case 'run-failed':
    case 'run-went-on':
      return state;
    case 'run-ended': {
      const ended = defined({ reason: event.reason, message: event.message });
      const last = state.history.last;
      if (event.reason !== 'max-turns' || !last) return { ...state, ended };
      // A run that continues from these messages may use `maxTurns` again.
      const marked = { ...last, metadata: { ...last.metadata, [MAX_TURNS_KEY]: true } };
      return { ...state, ended, history: state.history.withLast(marked), turnsUsed: 0 };
    }
  }
}

export function waitingCalls(state: State): readonly Call[] {
  return state.turn?.calls.filter((call) => pendingRequestId(call) !== undefined) ?? [];
}

function foldReply(state: State, reply: RunEvent & { type: 'model-replied' }): State {
  const base = {
    ...state,
    turnsUsed: state.turnsUsed + 1,
    reply: endOf(reply),
    ...usageAfter(state, reply),
  };
  if (reply.calls.length === 0)
    return { ...base, history: state.history.append({ role: 'model', content: reply.content }) };
  const requests = reply.content.filter(isToolRequest);
  return {
    ...base,
    refs: state.refs.add(reply.calls.map((call) => call.ref)),
    turn: newTurn(
      reply.content,
      reply.calls.map((ids, index) => requestedCall(ids, requests[index])),
    ),
  };
}

function usageAfter({ usage }: State, event: RunEvent): Pick<State, 'usage'> {
  return defined({ usage: addUsage(usage, usageIn(event)) });
}

function endOf({ finishReason, finishMessage }: RunEvent & { type: 'model-replied' }): NonNullable<State['reply']> {
  return finishMessage === undefined ? { finishReason } : { finishReason, finishMessage };
}

function requestedCall(ids: CallIds, request: ToolRequestPart | undefined): Call {
  if (!request) throw new InvariantError('invariant', { callId: ids.id }, `Call ${ids.id} is not in its reply.`);
  const { toolRequest, metadata } = request;
  const call = newCall(ids, toolRequest.name, toolRequest.input);
  return metadata ? { ...call, metadata } : call;
}

/** As an approval of the input that the grant was checked with. */
function grantCall(call: Call, { grantId, amount, runsWith, policies }: RunEvent & { type: 'call-granted' }): Call {
  const granted = defined({ id: grantId, amount });
  const input = runsWith === undefined ? call.input : runsWith;
  const approvals: Call['approvals'] = [...call.approvals, 'approval'];
  return { ...call, policies, granted, runsWith: input, approvals, phase: { at: 'cleared' } };
}

function startCall(call: Call, { at, inside, commits, host }: RunEvent & { type: 'call-started' }): Call {
  const started = startSubAgent(call);
  return {
    ...started,
    starts: call.starts + 1,
    ...(inside && { subAgent: { ...started.subAgent, isAgent: true } }),
    phase: {
      at: 'started',
      progress: inside ? 'sub-agent' : commits ? 'uncommitted' : 'unknown',
      ...defined({ since: at, host }),
    },
  };
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
  if (request.kind === 'inside') return withoutPreview(pauseSubAgent(call, request.id, inner));
  const { resumed, phase, ...rest } = call.granted && call.starts === 0 ? withoutGrant(call) : call;
  const asked: Call = { ...rest, pauses: call.pauses + 1, phase: { at: 'waiting', request } };
  if (!KEEPS_RESUMED.has(request.kind)) return withoutPreview(forgetRecord(asked));
  // If a person lets the call run, it gets the same value to continue with.
  const resumesWith = phase.at === 'sub-agent-held' ? resumedWith(phase.messages) : resumed;
  return resumesWith ? { ...asked, resumed: resumesWith } : asked;
}

/** A person is asked instead, so the grant no longer counts. */
function withoutGrant({ granted: _ended, ...call }: Call): Call {
  return { ...call, approvals: call.approvals.filter((kind) => kind !== 'approval') };
}

/** A body that asks for itself has begun, so the preview from before it no longer applies. */
function withoutPreview({ approvedPreview: _begun, ...call }: Call): Call {
  return call;
}

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
  const { decided: before } = call;
  const earlier = before ? [...before.earlier, decisionMetadata(before.decision)] : [];
  const policies = policiesIn(progress, request) ?? call.policies;
  const editors = [...new Set([...(call.editors ?? []), ...editorsIn(progress), ...editorsOf(decision)])];
  const decided: Call = {
    ...call,
    ...defined({ policies }),
    ...(editors.length > 0 && { editors }),
    decided: { ...(request && { request }), decision, earlier },
  };
  const answer = answerFor(request, decision);
  if (answer) return clear(decided, { type: 'approve' }, request, { value: answer });
  switch (decision.type) {
    case 'respond':
    case 'reject':
    case 'cancel':
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

/** Who edited the input with this decision. */
function editorsOf(decision: Decision): readonly string[] {
  if ((decision.type !== 'approve' && decision.type !== 'restart') || decision.input === undefined) return [];
  const { by, editedBy = by } = decision;
  return editedBy === undefined ? [] : [editedBy];
}

type RunDecision = Decision & { readonly type: 'restart' | 'approve' };

function clear(call: Call, decision: RunDecision, card: Request | undefined, resumed: Call['resumed']): Call {
  const { approvals } = call;
  const previews = card && previewsOf(card);
  return {
    ...withApprovedInput(call, decision, card),
    approvals: !card || approvals.includes(card.kind) ? approvals : [...approvals, card.kind],
    ...(previews && { approvedPreview: previews.preview }),
    ...(resumed && { resumed }),
    phase: { at: 'cleared' },
  };
}

/** Binds the call to the edited input, or to the input as the card showed it. */
function withApprovedInput(
  { runsWith: _before, ...call }: Call,
  { input, bound, by, editedBy = by }: RunDecision,
  card: Request | undefined,
): Call {
  const proposed = call.edit ? call.edit.proposed : call.input;
  const edited: Call = input === undefined ? call : { ...call, input, edit: defined({ proposed, by: editedBy }) };
  const shown = card && boundOf(card);
  const binding = input === undefined && shown && !shown.readAnew ? shown : bound;
  if (!binding) return edited;
  const { runsWith = edited.input } = binding;
  return { ...edited, runsWith };
}

function changeCall(state: State, callId: string, change: (call: Call) => Call): State {
  const turn = openTurn(state);
  const index = placeOf(turn, callId);
  const call = turn.calls[index];
  if (!call) throw new InvariantError('invariant', { callId }, `Call ${callId} is not in the open turn.`);
  return { ...state, turn: { ...turn, calls: turn.calls.with(index, change(call)) } };
}

function openTurn(state: State): Turn {
  if (!state.turn) throw new InvariantError('invariant', {}, 'There is no open turn.');
  return state.turn;
}

function closeIfSettled(state: State): State {
  const { turn, queued, ballots: _decided, ...rest } = state;
  // From the end, because calls mostly settle in order.
  if (!turn || turn.calls.findLast((call) => call.phase.at !== 'settled')) return state;
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
