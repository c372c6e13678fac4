// The rows of calls that a grant or a rule lets run: in lists they stand beside the requests that people decided.

import { defined, type Json } from '../../core/json.ts';
import { requestPart } from '../../core/messages/turn-messages.ts';
import { type Request, requestOf } from '../../core/request/request.ts';
import { type Call, callOf, unaskedId } from '../../core/run/call.ts';
import type { RunEvent } from '../../core/run/event.ts';
import type { Outcomes } from '../../core/run/outcomes.ts';
import type { State } from '../../core/run/state.ts';
import { subAgentState } from '../../core/run/sub-agents.ts';
import type { NewRequest, NewRun } from '../port/store.ts';
import { cardRecord, requestKey } from './card.ts';
import type { UnaskedCall } from './decision.ts';

type Granting = RunEvent & { readonly type: 'call-granted' };

/** The request that was not made. */
type Unmade = Pick<Granting, 'policies' | 'requesters' | 'runsWith' | 'shown'>;

export type Unasked = { readonly run: NewRun; readonly now: number; readonly outcomes: Outcomes };

/** A row for each call that these events let run without a request. It is settled from the start. */
export function unaskedRows(
  unasked: Unasked,
  state: State,
  events: readonly RunEvent[],
  path: readonly string[] = [],
): readonly NewRequest[] {
  let rows = NONE;
  // Most appends have none of these events.
  for (const event of events) {
    const found = foundIn(unasked, state, event, path);
    if (found.length > 0) rows = rows.length === 0 ? found : [...rows, ...found];
  }
  return rows;
}

function foundIn(unasked: Unasked, state: State, event: RunEvent, path: readonly string[]): readonly NewRequest[] {
  if (event.type !== 'call-granted' && event.type !== 'call-cleared' && event.type !== 'call-went-on') return NONE;
  const call = callOf(state, event.callId);
  if (!call) return NONE;
  if (event.type === 'call-went-on')
    return unaskedRows(unasked, subAgentState(call), event.inside, [...path, call.ref]);
  if (event.type === 'call-cleared') {
    const { allowed } = event;
    return allowed ? [rowOf(unasked, call, allowed, { granted: { rule: allowed.rule }, by: null }, path)] : NONE;
  }
  const { grantId: id, amount, by = null } = event;
  return [rowOf(unasked, call, event, { granted: defined({ id, amount }), by }, path)];
}

const NONE: readonly NewRequest[] = [];

function rowOf(
  { run, now, outcomes }: Unasked,
  call: Call,
  unmade: Unmade,
  allowedBy: Omit<UnaskedCall, 'at'>,
  path: readonly string[],
): NewRequest {
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
  const settlement: UnaskedCall = { ...allowedBy, at: now };
  return {
    ...cardRecord(key, card, run.id, run.agent, now),
    settlement: settlement as unknown as Json,
    ...(outcome && { outcome: outcome as Json }),
  };
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
