// Late results: from a tool that finished after another worker took its run over.
import { type Call, callOf, isInDoubt, pendingInterruptId, type State } from '../../core/call.ts';
import { messageOf } from '../../core/errors.ts';
import { event, type Result, type RunEvent } from '../../core/event.ts';
import { sameJson } from '../../core/json.ts';
import { isSubAgentActive, subAgentEvents, subAgentState } from '../../core/sub-agents.ts';
import type { LoadedRun } from '../port/store.ts';
import { warn } from '../port/warning.ts';

export type LateResult = RunEvent & { type: 'call-settled' | 'call-went-on' };

/** The results among these events, including those inside sub-agents. Other events are left out. */
export function lateResults(events: readonly RunEvent[]): readonly LateResult[] {
  return events.flatMap((event): readonly LateResult[] => {
    if (event.type === 'call-settled') return [event];
    if (event.type !== 'call-went-on') return [];
    return lateResults(event.inside).map((inside) => ({ ...event, inside: [inside] }));
  });
}

/** The result is that of a sub-agent, at any depth, and not of a body. Bodies inside it report for themselves. */
export function isOfAgent(late: LateResult, known: State): boolean {
  const started = callOf(known, late.callId);
  if (started?.phase.at !== 'started') return false;
  if (late.type === 'call-settled') return started.phase.progress === 'sub-agent';
  return isOfAgent(late.inside[0] as LateResult, subAgentState(started));
}

/**
 * Whether the run still waits for this result of the attempt in `known`. `soon`: another worker runs the sub-agent, so the
 * result can be added only once that pauses.
 */
export function isAwaited(result: LateResult, known: State, now: State): boolean | 'soon' {
  const started = callOf(known, result.callId);
  const call = callOf(now, result.callId);
  if (!started || !call) return false;
  if (result.type === 'call-settled') return isSameTry(started, call, result.result);
  const [inside] = result.inside as readonly LateResult[];
  const awaited = inside !== undefined && isAwaited(inside, subAgentState(started), subAgentState(call));
  // No worker runs the sub-agent while it waits, even if its agent no longer exists.
  if (awaited === false || pendingInterruptId(call) !== undefined) return awaited;
  return isSubAgentActive(call) && 'soon';
}

/**
 * The store confirmed the start of the call and no longer has it, because a backup was restored or a replica was behind.
 * The call may run again, or has already, and only this process knows that it ran.
 */
export function isStartLost(path: CallPath, known: State, recorded: readonly RunEvent[]): boolean {
  const [callId, ...inside] = path;
  const started = callOf(known, callId);
  if (started?.phase.at !== 'started') return false;
  const { since } = started.phase;
  const ofCall = recorded.filter((event) => 'callId' in event && event.callId === callId);
  const starts = ofCall.filter(({ type }) => type === 'call-started');
  // A call that was approved again has another start time.
  if (starts.length < started.starts || !starts.some(({ at }) => at === since)) return true;
  const past = ofCall.flatMap((event) => (event.type === 'call-went-on' ? subAgentEvents(event) : []));
  return isPath(inside) && isStartLost(inside, subAgentState(started), past);
}

/** The ids of a call and the calls around it, outermost first. */
export type CallPath = readonly [string, ...string[]];

function isPath(ids: readonly string[]): ids is CallPath {
  return ids.length > 0;
}

export function pathOf(late: LateResult): CallPath {
  return late.type === 'call-settled' ? [late.callId] : [late.callId, ...pathOf(late.inside[0] as LateResult)];
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

/** `isGone`: the store no longer has the run. It may have been deleted. */
export function warnOfLostStart(runId: string, path: CallPath, isGone = false): void {
  const call = path.join(', ');
  const message = isGone
    ? `The store no longer has run ${runId}: a backup was restored, or the run was deleted. Its call ${call} ran in this process, and its result cannot be recorded. Check what the call did.`
    : `The store has lost the start of call ${call} of run ${runId}, for example because a backup was restored. The call ran in this process, and its result cannot be recorded. Check what it did before you approve it again, and whether it acted twice.`;
  warn(message, 'store-failed');
}

export function warnOfUnrecorded(runId: string, late: LateResult, error: unknown): void {
  const message = `Call ${pathOf(late).join(', ')} of run ${runId} has ended, but its result could not be recorded: ${messageOf(error)} Check what it did before you say that it did not happen.`;
  warn(message, 'store-failed');
}

/**
 * The events that record a result after others settled the call or started it again; none if the same result is recorded.
 * A failed run stays failed until it is driven again.
 */
export function endedLate(late: LateResult, known: State, { run, events }: LoadedRun): readonly RunEvent[] {
  const fact = endedLateIn(late, known, events);
  if (!fact) return [];
  return run.status === 'failed' ? [fact, event({ type: 'run-failed', error: run.outcome })] : [fact];
}

/** How often this result is recorded as late. */
export function timesRecordedLate(late: LateResult, recorded: readonly RunEvent[]): number {
  const { callId, path, result } = leafOf(late, []);
  const isThis = (event: RunEvent): boolean =>
    event.type === 'call-ended-late' &&
    event.callId === callId &&
    sameJson(event.path ?? [], path) &&
    isSameResult(event.result, result);
  return recorded.filter(isThis).length;
}

type Leaf = Pick<LateResult & { type: 'call-settled' }, 'callId' | 'result'> & { readonly path: readonly string[] };

/** The call whose body it was, with the calls around it. `lateResults` returns one result at a time. */
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
  // After another attempt, equal results mean that both have acted.
  const isTold = ofCall.some((event) => event.type === 'call-settled' && isSameResult(event.result, result));
  if (isTold && starts === started.starts) return undefined;
  return event({ type: 'call-ended-late', callId, ...(path.length > 0 && { path }), result });
}

/** Compares results, regardless of who reported them. */
function isSameResult(one: Result, other: Result): boolean {
  if (one.type === 'output' || other.type === 'output')
    return one.type === 'output' && other.type === 'output' && sameJson(one.output, other.output);
  return one.type === other.type && one.text === other.text;
}

/**
 * The call is still started, or in doubt about that start. Or a person approved running it again unchanged, and that has not
 * begun: then its result replaces the second run.
 */
function isSameTry(started: Call, now: Call, result: Result): boolean {
  // Only the worker that started this attempt may settle it.
  if (started.phase.at !== 'started' || started.starts !== now.starts) return false;
  // The worker that took over continues the sub-agent from the record and gets its own result.
  if (started.phase.progress === 'sub-agent') return false;
  if (now.phase.at === 'started') return now.pauses === started.pauses;
  if (now.phase.at === 'settled') return false;
  return isInDoubt(now) ? now.pauses === started.pauses + 1 : result.type === 'output' && isSameOrder(started, now);
}

/** The call would run with exactly the input that it ran with. */
function isSameOrder(one: Call, other: Call): boolean {
  const orderOf = ({ input, runsWith = input, resumed }: Call) => ({ input, runsWith, resumed });
  return sameJson(orderOf(one), orderOf(other));
}
