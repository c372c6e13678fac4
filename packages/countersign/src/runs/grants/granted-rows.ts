// The rows of calls that a grant lets run: in lists they stand beside the requests that people decided.

import { defined, type Json } from '../../core/json.ts';
import { requestPart } from '../../core/messages/turn-messages.ts';
import { type Request, requestOf } from '../../core/request/request.ts';
import { type Call, callOf, grantedId } from '../../core/run/call.ts';
import type { RunEvent } from '../../core/run/event.ts';
import type { Outcomes } from '../../core/run/outcomes.ts';
import type { State } from '../../core/run/state.ts';
import { subAgentState } from '../../core/run/sub-agents.ts';
import type { NewRequest, NewRun } from '../port/store.ts';
import { cardRecord, requestKey } from '../requests/card.ts';
import type { GrantedCall } from '../requests/decision.ts';

type Granting = RunEvent & { readonly type: 'call-granted' };

export type Granted = { readonly run: NewRun; readonly now: number; readonly outcomes: Outcomes };

/** A row for each call that these events let run without a request. It is settled from the start. */
export function grantedRows(
  granted: Granted,
  state: State,
  events: readonly RunEvent[],
  path: readonly string[] = [],
): readonly NewRequest[] {
  let rows = NONE;
  // Most appends have neither of these events.
  for (const event of events) {
    if (event.type !== 'call-granted' && event.type !== 'call-went-on') continue;
    const call = callOf(state, event.callId);
    // A call and its grant are never in one append.
    if (!call) continue;
    const found =
      event.type === 'call-granted'
        ? [rowOf(granted, call, event, path)]
        : grantedRows(granted, subAgentState(call), event.inside, [...path, call.ref]);
    rows = rows.length === 0 ? found : [...rows, ...found];
  }
  return rows;
}

const NONE: readonly NewRequest[] = [];

function rowOf({ run, now, outcomes }: Granted, call: Call, event: Granting, path: readonly string[]): NewRequest {
  const { grantId, amount, by = null } = event;
  const request = unaskedRequest(call, event);
  const part = requestPart({ ...call, phase: { at: 'waiting', request } });
  const card = {
    id: request.id,
    request,
    tool: call.name,
    part: path.length > 0 ? { ...part, metadata: { ...part.metadata, path } } : part,
  };
  const key = requestKey(run.id, request.id);
  const outcome = outcomes.get(key);
  const settlement: GrantedCall = { granted: defined({ id: grantId, amount }), by, at: now };
  return {
    ...cardRecord(key, card, run.id, run.agent, now),
    settlement: settlement as unknown as Json,
    ...(outcome && { outcome: outcome as Json }),
  };
}

/** The request that was not made. */
function unaskedRequest(call: Call, { shown, policies, requesters = [], runsWith }: Granting): Request {
  return requestOf('approval', {
    id: grantedId(call),
    shown: shown ?? { payload: true },
    authority: { policies, requesters },
    bound: defined({ runsWith }),
  });
}
