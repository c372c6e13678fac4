// The rows of calls that a grant or a rule lets run, or that a rule only observes: in lists they stand beside the requests that people decided.

import { defined, type Json } from '../../core/json.ts';
import { requestPart } from '../../core/messages/turn-messages.ts';
import { type Request, requestOf } from '../../core/request/request.ts';
import { type Call, callOf, unaskedId } from '../../core/run/call.ts';
import { mayJoinItsCall, type RunEvent } from '../../core/run/event.ts';
import type { Outcomes } from '../../core/run/outcomes.ts';
import { fold, type State } from '../../core/run/state.ts';
import { subAgentState } from '../../core/run/sub-agents.ts';
import type { NewRequest, NewRun } from '../port/store.ts';
import { cardRecord, requestKey } from './card.ts';
import type { ObservedCall, UnaskedCall } from './decision.ts';

type Granting = RunEvent & { readonly type: 'call-granted' };

/** The request that was not made. */
type Unmade = Pick<Granting, 'policies' | 'requesters' | 'runsWith' | 'shown'>;

export type Unasked = { readonly run: NewRun; readonly now: number; readonly outcomes: Outcomes };

/** A row for each call that these events let run without a request. It is settled from the start. */
export function unaskedRows(
  unasked: Unasked,
  before: State,
  events: readonly RunEvent[],
  path: readonly string[] = [],
): readonly NewRequest[] {
  let rows = NONE;
  let state = before;
  // A call and its grant are never in one append, but a call and what a rule says of it may be.
  const inOne = events.some(mayJoinItsCall);
  // Most appends have none of these events.
  for (const event of events) {
    const found = MAY_LET_RUN.has(event.type) ? foundIn(unasked, state, event, path) : NONE;
    if (found.length > 0) rows = rows.length === 0 ? found : [...rows, ...found];
    if (inOne) state = fold(state, event);
  }
  return rows;
}

function foundIn(unasked: Unasked, state: State, event: RunEvent, path: readonly string[]): readonly NewRequest[] {
  switch (event.type) {
    case 'call-went-on': {
      const call = callOf(state, event.callId);
      return call ? unaskedRows(unasked, subAgentState(call), event.inside, [...path, call.ref]) : NONE;
    }
    case 'call-granted': {
      const { grantId: id, amount, by = null } = event;
      return rowsOf(unasked, callOf(state, event.callId), event, { granted: defined({ id, amount }), by }, path);
    }
    case 'call-cleared': {
      const { allowed } = event;
      if (!allowed) return NONE;
      return rowsOf(unasked, callOf(state, event.callId), allowed, { granted: { rule: allowed.rule }, by: null }, path);
    }
    case 'call-judged': {
      const { observed, runsWith } = event;
      if (!observed) return NONE;
      const unmade = { ...observed, ...defined({ runsWith }) };
      return rowsOf(unasked, callOf(state, event.callId), unmade, { observed: { why: observed.why }, by: null }, path);
    }
    default:
      return NONE;
  }
}

const NONE: readonly NewRequest[] = [];
const MAY_LET_RUN = new Set<RunEvent['type']>(['call-went-on', 'call-granted', 'call-cleared', 'call-judged']);

function rowsOf(
  { run, now, outcomes }: Unasked,
  call: Call | undefined,
  unmade: Unmade,
  ran: Omit<UnaskedCall, 'at'> | Omit<ObservedCall, 'at'>,
  path: readonly string[],
): readonly NewRequest[] {
  if (!call) return NONE;
  const request = unaskedRequest(call, unmade);
  const part = requestPart({ ...call, phase: { at: 'waiting', request } });
  const card = {
    id: request.id,
    request,
    tool: call.name,
    part: path.length > 0 ? { ...part, metadata: { ...part.metadata, path } } : part,
  };
  const key = requestKey(run.id, request.id);
  const outcome = outcomes.get(key);
  const settlement: UnaskedCall | ObservedCall = { ...ran, at: now };
  return [
    {
      ...cardRecord(key, card, run.id, run.agent, now),
      settlement: settlement as unknown as Json,
      ...(outcome && { outcome: outcome as Json }),
    },
  ];
}

/** The request that was not made. */
function unaskedRequest(call: Call, { shown, policies, requesters = [], runsWith }: Unmade): Request {
  return requestOf('approval', {
    id: unaskedId(call),
    shown: shown ?? { payload: true },
    authority: { policies, requesters },
    bound: defined({ runsWith }),
  });
}
