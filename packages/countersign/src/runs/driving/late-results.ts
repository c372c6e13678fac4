// Late results: from a tool that finished after another worker took its run over.

import { sameJson } from '../../core/json.ts';
import { type Call, callOf, isInDoubt, pendingRequestId, type State } from '../../core/run/call.ts';
import { event, type Result, type RunEvent } from '../../core/run/event.ts';
import { isSubAgentActive, subAgentState } from '../../core/run/sub-agents.ts';
import type { LoadedRun } from '../port/store.ts';
import { errorIn } from '../requests/view.ts';

/** The ids of a call and of the calls around it, outermost first. */
export type CallPath = readonly [string, ...string[]];

/** The result of one body, and the event that records it in its run. */
export type LateResult = { readonly path: CallPath; readonly result: Result; readonly event: RunEvent };

/** The results of bodies that are started in `known`. A sub-agent is not one: the next worker continues it from the record. */
export function lateResults(events: readonly RunEvent[], known: State): readonly LateResult[] {
  return resultsIn(events).filter(({ path }) => {
    const phase = callAt(known, path)?.phase;
    return phase?.at === 'started' && phase.progress !== 'sub-agent';
  });
}

function resultsIn(events: readonly RunEvent[]): readonly LateResult[] {
  return events.flatMap((event): readonly LateResult[] => {
    if (event.type === 'call-settled') return [{ path: [event.callId], result: event.result, event }];
    if (event.type !== 'call-went-on') return [];
    return resultsIn(event.inside).map(({ path, result, event: inside }) => ({
      path: [event.callId, ...path],
      result,
      event: { ...event, inside: [inside] },
    }));
  });
}

/** The call and the calls around it, outermost first, as far as they exist. */
function callsAt(state: State, [callId, ...inside]: CallPath): readonly Call[] {
  const call = callOf(state, callId);
  if (!call || !isPath(inside)) return call ? [call] : [];
  return [call, ...callsAt(subAgentState(call), inside)];
}

function callAt(state: State, path: CallPath): Call | undefined {
  return callsAt(state, path)[path.length - 1];
}

function isPath(ids: readonly string[]): ids is CallPath {
  return ids.length > 0;
}

/** Whether the run waits for this result of the attempt in `known`. `soon`: once the worker that runs the sub-agent pauses. */
export function isAwaited({ path, result }: LateResult, known: State, now: State): boolean | 'soon' {
  const started = callAt(known, path);
  const call = callAt(now, path);
  if (!started || !call || !isSameTry(started, call, result)) return false;
  // No worker runs a sub-agent while it waits, even if its agent no longer exists.
  const driven = callsAt(now, path)
    .slice(0, -1)
    .filter((around) => pendingRequestId(around) === undefined);
  if (driven.length === 0) return true;
  return driven.every(isSubAgentActive) && 'soon';
}

/** The calls without a result whose bodies may have acted, including those inside sub-agents. */
export function underWay({ turn }: State): readonly CallPath[] {
  return (turn?.calls ?? []).flatMap((call): readonly CallPath[] => {
    if (call.phase.at !== 'started') return [];
    const { progress } = call.phase;
    if (progress === 'sub-agent') return underWay(subAgentState(call)).map((path) => [call.id, ...path]);
    return progress === 'uncommitted' ? [] : [[call.id]];
  });
}

/** Records a result after others settled the call or started it again, unless the same is recorded. A failed run stays failed. */
export function endedLate({ path, result }: LateResult, known: State, { run, events }: LoadedRun): readonly RunEvent[] {
  const ofCall = eventsOf(path, events);
  const starts = ofCall.filter(({ type }) => type === 'call-started').length;
  // After another attempt, equal results mean that both have acted.
  const isTold = ofCall.some((event) => event.type === 'call-settled' && isSameResult(event.result, result));
  if (isTold && starts === callAt(known, path)?.starts) return [];
  const around = path.slice(0, -1);
  const callId = path.at(-1) ?? path[0];
  const fact = event({ type: 'call-ended-late', callId, ...(around.length > 0 && { path: around }), result });
  return run.status === 'failed' ? [fact, event({ type: 'run-failed', error: { error: errorIn(run) } })] : [fact];
}

/** The recorded events of the call, from the sub-agents around it. */
function eventsOf([callId, ...inside]: CallPath, recorded: readonly RunEvent[]): readonly RunEvent[] {
  const ofCall = recorded.filter((event) => 'callId' in event && event.callId === callId);
  if (!isPath(inside)) return ofCall;
  return eventsOf(
    inside,
    ofCall.flatMap((event) => (event.type === 'call-went-on' ? event.inside : [])),
  );
}

/** Compares results, regardless of who reported them. */
function isSameResult(one: Result, other: Result): boolean {
  if (one.type === 'output' || other.type === 'output')
    return one.type === 'output' && other.type === 'output' && sameJson(one.output, other.output);
  return one.type === other.type && one.text === other.text;
}

/** The call is still started, in doubt about that, or approved to run again unchanged: the result replaces the second run. */
function isSameTry(started: Call, now: Call, result: Result): boolean {
  // Only the worker that started this attempt may settle it.
  if (started.starts !== now.starts || now.phase.at === 'settled') return false;
  if (now.phase.at === 'started') return now.pauses === started.pauses;
  return isInDoubt(now) ? now.pauses === started.pauses + 1 : result.type === 'output' && isSameOrder(started, now);
}

/** The call would run with exactly the input that it ran with. */
function isSameOrder(one: Call, other: Call): boolean {
  const orderOf = ({ input, runsWith = input, resumed }: Call) => ({ input, runsWith, resumed });
  return sameJson(orderOf(one), orderOf(other));
}
