// Results that come late: from a tool that finished after its run was taken over by another worker.
import { type Call, callOf, isInDoubt, pendingInterruptId, type State } from '../../core/call.ts';
import { messageOf } from '../../core/errors.ts';
import { event, type Result, type RunEvent } from '../../core/event.ts';
import { sameJson } from '../../core/json.ts';
import { isSubAgentActive, subAgentEvents, subAgentState } from '../../core/sub-agents.ts';
import type { LoadedRun } from '../port/store.ts';
import { warn } from '../port/warning.ts';

export type LateResult = RunEvent & { type: 'call-settled' | 'call-went-on' };

/** The results among these events, also those of calls inside a call; what else happened inside is left out. */
export function lateResults(events: readonly RunEvent[]): readonly LateResult[] {
  return events.flatMap((event): readonly LateResult[] => {
    if (event.type === 'call-settled') return [event];
    if (event.type !== 'call-went-on') return [];
    return lateResults(event.inside).map((inside) => ({ ...event, inside: [inside] }));
  });
}

/** It is what an agent came to, at whatever depth, and not a body. What has acted inside is told of by itself. */
export function isOfAgent(late: LateResult, known: State): boolean {
  const started = callOf(known, late.callId);
  if (started?.phase.at !== 'started') return false;
  if (late.type === 'call-settled') return started.phase.progress === 'sub-agent';
  return isOfAgent(late.inside[0] as LateResult, subAgentState(started));
}

/**
 * Whether the run still waits for this result, which is of the try that was on record as `known`. `soon`: whoever goes on
 * inside has its own view of it; only once it rests can something be added.
 */
export function isAwaited(result: LateResult, known: State, now: State): boolean | 'soon' {
  const started = callOf(known, result.callId);
  const call = callOf(now, result.callId);
  if (!started || !call) return false;
  if (result.type === 'call-settled') return isSameTry(started, call, result.result);
  const [inside] = result.inside as readonly LateResult[];
  const awaited = inside !== undefined && isAwaited(inside, subAgentState(started), subAgentState(call));
  // Whatever it waits for, also for an agent that is gone: nobody goes on inside.
  if (awaited === false || pendingInterruptId(call) !== undefined) return awaited;
  return isSubAgentActive(call) && 'soon';
}

/**
 * The store had said that the call was started, and does not know of that start any more: it was set back to a backup, or to a
 * replica that was behind. Then somebody may let it run again, or has done so already, and only this process knows that it has
 * run.
 */
export function isForgotten(path: CallPath, known: State, recorded: readonly RunEvent[]): boolean {
  const [callId, ...inside] = path;
  const started = callOf(known, callId);
  if (started?.phase.at !== 'started') return false;
  const { since } = started.phase;
  const ofCall = recorded.filter((event) => 'callId' in event && event.callId === callId);
  const starts = ofCall.filter(({ type }) => type === 'call-started');
  // One that was approved again has another time.
  if (starts.length < started.starts || !starts.some(({ at }) => at === since)) return true;
  const past = ofCall.flatMap((event) => (event.type === 'call-went-on' ? subAgentEvents(event) : []));
  return isPath(inside) && isForgotten(inside, subAgentState(started), past);
}

/** A call, after those it is inside of. */
export type CallPath = readonly [string, ...string[]];

function isPath(ids: readonly string[]): ids is CallPath {
  return ids.length > 0;
}

export function pathOf(late: LateResult): CallPath {
  return late.type === 'call-settled' ? [late.callId] : [late.callId, ...pathOf(late.inside[0] as LateResult)];
}

/** Those whose bodies may have acted, and have no result, also inside of agents. */
export function underWay({ turn }: State): readonly CallPath[] {
  return (turn?.calls ?? []).flatMap((call): readonly CallPath[] => {
    if (call.phase.at !== 'started') return [];
    const { progress } = call.phase;
    if (progress === 'sub-agent') return underWay(subAgentState(call)).map((path) => [call.id, ...path]);
    return progress === 'uncommitted' ? [] : [[call.id]];
  });
}

/** `isGone`: nothing of the run is known any more. It may have been deleted, too. */
export function warnOfForgotten(runId: string, path: CallPath, isGone = false): void {
  const call = path.join(', ');
  const message = isGone
    ? `The store does not know run ${runId} any more, as after a backup was restored or the run was deleted. Its call ${call} has run here, which cannot be recorded. Look at what it did.`
    : `The store has forgotten that call ${call} of run ${runId} was started, as after a backup was restored. It has run here, which cannot be recorded. Look at what it did before it is approved again, or whether it has acted twice.`;
  warn(message, 'store-failed');
}

export function warnOfUntold(runId: string, late: LateResult, error: unknown): void {
  const message = `Call ${pathOf(late).join(', ')} of run ${runId} has ended, which could not be recorded: ${messageOf(error)} Look at what it did before anybody says that it did not happen.`;
  warn(message, 'store-failed');
}

/**
 * Of a body whose call others have settled, or started anew, since: what it came to, unless just that is on record. A run that
 * failed stays failed, until somebody drives it on.
 */
export function endedLate(late: LateResult, known: State, { run, events }: LoadedRun): readonly RunEvent[] {
  const fact = endedLateIn(late, known, events);
  if (!fact) return [];
  return run.status === 'failed' ? [fact, event({ type: 'run-failed', error: run.outcome })] : [fact];
}

/** How often just this is on record as having come late. */
export function timesToldLate(late: LateResult, recorded: readonly RunEvent[]): number {
  const { callId, path, result } = leafOf(late, []);
  const isThis = (event: RunEvent): boolean =>
    event.type === 'call-ended-late' &&
    event.callId === callId &&
    sameJson(event.path ?? [], path) &&
    isSameResult(event.result, result);
  return recorded.filter(isThis).length;
}

type Leaf = Pick<LateResult & { type: 'call-settled' }, 'callId' | 'result'> & { readonly path: readonly string[] };

/** The call whose body it was, and those it is inside of. `lateResults` gives one of them at a time. */
function leafOf(late: LateResult, path: readonly string[]): Leaf {
  const { callId } = late;
  if (late.type === 'call-settled') return { callId, path, result: late.result };
  return leafOf(late.inside[0] as LateResult, [...path, callId]);
}

function endedLateIn(
  late: LateResult,
  known: State,
  recorded: readonly RunEvent[],
  path: readonly string[] = [],
): RunEvent | undefined {
  const { callId } = late;
  const started = callOf(known, callId);
  const ofCall = recorded.filter((event) => 'callId' in event && event.callId === callId);
  if (late.type === 'call-went-on') {
    const past = ofCall.flatMap((event) => (event.type === 'call-went-on' ? event.inside : []));
    return started && endedLateIn(late.inside[0] as LateResult, subAgentState(started), past, [...path, callId]);
  }
  if (started?.phase.at !== 'started' || started.phase.progress === 'sub-agent') return undefined;
  const { result } = late;
  const starts = ofCall.filter(({ type }) => type === 'call-started').length;
  // After another try, that both came to the same says that both have acted.
  const isTold = ofCall.some((event) => event.type === 'call-settled' && isSameResult(event.result, result));
  if (isTold && starts === started.starts) return undefined;
  return event({ type: 'call-ended-late', callId, ...(path.length > 0 && { path }), result });
}

/** Whoever said it. */
function isSameResult(one: Result, other: Result): boolean {
  if (one.type === 'output' || other.type === 'output')
    return one.type === 'output' && other.type === 'output' && sameJson(one.output, other.output);
  return one.type === other.type && one.text === other.text;
}

/**
 * The call still stands where it was started, or in doubt about that start; or a person said to run it once more, just as it
 * was, and that has not begun: that it has happened is better than a second time.
 */
function isSameTry(started: Call, now: Call, result: Result): boolean {
  // Who has not started it knows nothing of it, and another try since is not theirs to settle.
  if (started.phase.at !== 'started' || started.starts !== now.starts) return false;
  // Whoever took the run over goes on inside, from what is on record, and comes to an end of its own.
  if (started.phase.progress === 'sub-agent') return false;
  if (now.phase.at === 'started') return now.pauses === started.pauses;
  if (now.phase.at === 'settled') return false;
  return isInDoubt(now) ? now.pauses === started.pauses + 1 : result.type === 'output' && isSameOrder(started, now);
}

/** What would run is what did. */
function isSameOrder(one: Call, other: Call): boolean {
  const orderOf = ({ input, runsWith = input, resumed }: Call) => ({ input, runsWith, resumed });
  return sameJson(orderOf(one), orderOf(other));
}
