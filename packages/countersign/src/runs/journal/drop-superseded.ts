// Drops events that were superseded by what other writers recorded first.
import { callOf } from '../../core/run/call.ts';
import type { RunEvent } from '../../core/run/event.ts';
import { refsOf } from '../../core/run/made.ts';
import type { State } from '../../core/run/state.ts';
import { decidedRefs, subAgentState } from '../../core/run/sub-agents.ts';
import { pendingCards } from '../requests/card.ts';

/** The event would start, ask about or settle a settled call, or change or decide a request that is decided. */
export function isSuperseded(event: RunEvent, state: State): boolean {
  if ('requestId' in event && !('callId' in event)) return !isPending(event.requestId, state);
  if (!('callId' in event)) return false;
  const call = callOf(state, event.callId);
  if (!call) return false;
  if (call.phase.at === 'settled') return NOT_AFTER_A_RESULT.has(event.type);
  if (event.type !== 'decision-made' || event.decision.type !== 'inside') return false;
  const decided = decidedRefs(call);
  return event.decision.decisions.some(({ on }) => decided.has(refsOf(on)));
}

const isPending = (requestId: string, state: State): boolean =>
  [...pendingCards('', state).values()].some(({ id }) => id === requestId);

/** Removes events that no longer apply because someone ended the run. Those of bodies that had started stay. */
export function dropAfterEnd(events: RunEvent[], state: State): void {
  events.splice(0, events.length, ...events.flatMap((event) => toldByBodies(event, state)));
}

function toldByBodies(event: RunEvent, state: State): readonly RunEvent[] {
  if (!TOLD_BY_BODIES.has(event.type) || !('callId' in event)) return [];
  const call = callOf(state, event.callId);
  if (call?.phase.at !== 'started') return [];
  if (event.type !== 'call-went-on') return [event];
  const before = subAgentState(call);
  const inside = event.inside.flatMap((inner) => toldByBodies(inner, before));
  return inside.length > 0 ? [{ ...event, inside }] : [];
}

const TOLD_BY_BODIES: ReadonlySet<RunEvent['type']> = new Set([
  'step-done',
  'call-committed',
  'call-went-on',
  'call-settled',
]);

const NOT_AFTER_A_RESULT: ReadonlySet<RunEvent['type']> = new Set([
  'call-granted',
  'call-judged',
  'call-started',
  'call-cleared',
  'call-frozen',
  'call-interrupted',
  'call-held',
  'call-settled',
  'decision-made',
]);
