// What new events say came of calls that people have decided: for the rows of their requests.

import { defined } from '../json.ts';
import { type CallOutcome, lineOf, type NotRun } from '../request/outcome.ts';
import { type Call, callOf, isRecallable, type State, unaskedId } from './call.ts';
import { mayJoinItsCall, type Result, type RunEvent } from './event.ts';
import { fold } from './state.ts';
import { hasSubAgent, subAgentState } from './sub-agents.ts';

export type Outcomes = ReadonlyMap<string, CallOutcome>;

/**
 * By the ids of the requests that let the calls run, or of the rows of calls that ran unasked, in the run before these events
 * and in the calls of sub-agents.
 */
export function outcomesIn(before: State, events: readonly RunEvent[]): Outcomes {
  const inOne = events.some(mayJoinItsCall);
  if (!before.turn && !inOne) return NONE;
  const reading = new Reading();
  reading.read(before, events, undefined, inOne);
  return reading.found ?? NONE;
}

const NONE: Outcomes = new Map();

/** Most events say nothing, so nothing is made before one does. */
class Reading {
  found: Map<string, CallOutcome> | undefined;
  /** The request of the last decision of these events, or the row of a grant, by its call. */
  #decided: Map<string, string> | undefined;

  /** `at`: the time of the event that carries those of a sub-agent. `inOne`: the calls may be in the same append. */
  read(before: State, events: readonly RunEvent[], at: number | undefined, inOne: boolean): void {
    let state = before;
    for (const event of events) {
      const time = event.at ?? at ?? null;
      switch (event.type) {
        case 'decision-made':
          this.#decide(callOf(state, event.callId), event);
          break;
        case 'call-granted': {
          const call = callOf(state, event.callId);
          if (call) this.#letRun(call, unaskedId(call));
          break;
        }
        case 'call-judged': {
          const call = event.observed && callOf(state, event.callId);
          if (call) this.#letRun(call, unaskedId(call));
          break;
        }
        case 'call-settled': {
          const call = callOf(state, event.callId);
          const isRecalled = event.result.type === 'rejected' && isRecallable(call);
          const outcome = isRecalled ? notRun('recalled', time) : ofResult(event.result, time, isInDoubt(call));
          if (this.#isDecided(call)) this.#tell(call, outcome);
          break;
        }
        case 'call-ended-late': {
          const call = event.path === undefined ? callOf(state, event.callId) : undefined;
          if (this.#isDecided(call)) this.#tell(call, ofResult(event.result, time, false));
          break;
        }
        case 'call-interrupted': {
          const call = callOf(state, event.callId);
          const { kind } = event.request;
          if (event.request.kind === 'recall')
            this.#tell(call, { state: 'running', ...defined({ startsAt: event.request.wait?.expiresAt }) });
          if (kind === 'doubt') this.#tell(call, { state: 'unknown', at: time });
          if (kind === 'approval' || kind === 'unavailable') this.#tell(call, notRun('changed', time));
          break;
        }
        case 'call-frozen':
          this.#tell(callOf(state, event.callId), { state: 'frozen', ...event.freeze });
          break;
        case 'run-unfrozen':
          this.#unfreeze(state);
          break;
        case 'call-went-on': {
          const call = callOf(state, event.callId);
          if (call) this.read(subAgentState(call), event.inside, time ?? undefined, inOne);
          break;
        }
        case 'run-ended':
          for (const call of state.turn?.calls ?? []) this.#end(call, time);
      }
      if (inOne) state = fold(state, event);
    }
  }

  #decide(call: Call | undefined, { decision: { type }, requestId }: RunEvent & { type: 'decision-made' }): void {
    if (!call) return;
    const runs = type === 'approve' || type === 'restart';
    // A person lets a call in doubt run again.
    if (runs && isInDoubt(call)) this.#tell(call, { state: 'running' });
    if (!runs && !(type === 'respond' && isInDoubt(call))) return;
    this.#letRun(call, requestId);
  }

  #letRun({ id }: Call, requestId: string): void {
    this.#decided ??= new Map();
    this.#decided.set(id, requestId);
  }

  #isDecided(call: Call | undefined): call is Call {
    if (call === undefined) return false;
    return (call.decided?.ids.length ?? 0) > 0 || call.unasked !== undefined || this.#decided?.has(call.id) === true;
  }

  #tell(call: Call | undefined, outcome: CallOutcome): void {
    if (!this.#isDecided(call)) return;
    this.found ??= new Map();
    for (const id of call.decided?.ids ?? []) this.found.set(id, outcome);
    if (call.unasked !== undefined) this.found.set(call.unasked, outcome);
    const last = this.#decided?.get(call.id);
    if (last !== undefined) this.found.set(last, outcome);
  }

  #unfreeze({ turn }: State): void {
    for (const call of turn?.calls ?? []) {
      if (call.frozen) this.#tell(call, { state: 'running' });
      if (hasSubAgent(call)) this.#unfreeze(subAgentState(call));
    }
  }

  /** The run ended before its call did. */
  #end(call: Call, at: number | null): void {
    const { phase } = call;
    if (phase.at === 'settled') return;
    const isStarted = phase.at === 'started' && phase.progress !== 'uncommitted';
    this.#tell(call, isStarted || isInDoubt(call) ? { state: 'unknown', at } : notRun('stopped', at));
    if (hasSubAgent(call)) for (const inner of subAgentState(call).turn?.calls ?? []) this.#end(inner, at);
  }
}

const notRun = (why: NotRun, at: number | null): CallOutcome => ({ state: 'not-run', at, why });

const isInDoubt = (call: Call | undefined): boolean =>
  call?.phase.at === 'waiting' && call.phase.request.kind === 'doubt';

/** `inDoubt`: a person was asked whether the call took effect. */
export function ofResult(result: Result, at: number | null, inDoubt: boolean): CallOutcome {
  switch (result.type) {
    case 'output':
      return { state: 'done', at, text: result.line ?? lineOf(result.output) };
    case 'error':
      return { state: 'failed', at, text: result.line ?? result.text, mayHaveActed: result.mayHaveActed === true };
    case 'rejected':
    case 'cancelled':
      return inDoubt || result.mayHaveActed ? { state: 'unknown', at } : notRun(result.type, at);
  }
}
