// The calls of a recorded run that were started, and what came of them.

import { newState } from '../../core/messages/load-messages.ts';
import { type Call, callOf, type State } from '../../core/run/call.ts';
import type { Result, RunEvent } from '../../core/run/event.ts';
import { fold } from '../../core/run/state.ts';
import { eachInside } from '../evidence/replay.ts';

/** `tools`: the names of the calls whose sub-agents it is in, the outermost first. Without `result` its outcome is not recorded. */
export type RanCall = { readonly call: Call; readonly tools: readonly string[]; readonly result?: Result };

/** The last start first, those of sub-agents included. The sub-agents themselves are not calls that do something. */
export function ranCalls(events: readonly RunEvent[]): readonly RanCall[] {
  const ran = new Map<string, RanCall>();
  let state = newState();
  for (const event of events) {
    read(ran, state, event, []);
    state = fold(state, event);
  }
  return [...ran.values()].reverse();
}

function read(ran: Map<string, RanCall>, state: State, event: RunEvent, tools: readonly string[]): readonly never[] {
  const call = 'callId' in event ? callOf(state, event.callId) : undefined;
  if (!call) return [];
  if (event.type === 'call-went-on')
    return eachInside(state, event, (inner, step) => read(ran, inner, step, [...tools, call.name]));
  const known = ran.get(call.id);
  if (event.type === 'call-started' && !event.inside) {
    ran.delete(call.id);
    ran.set(call.id, { call, tools });
  }
  const isResult = event.type === 'call-settled' || (event.type === 'call-ended-late' && !event.path);
  if (known && isResult && known.result?.type !== 'output') ran.set(call.id, { call, tools, result: event.result });
  return [];
}
