// What new events say came of calls that people have decided: for the rows of their requests.

import { type CallOutcome, lineOf, type NotRun } from '../request/outcome.ts';
import type { Call, State } from './call.ts';
import type { Result, RunEvent } from './event.ts';
import { hasSubAgent, subAgentState } from './sub-agents.ts';

export type Outcomes = ReadonlyMap<string, CallOutcome>;

/** By the ids of the requests that let the calls run, in the run before these events and in the calls of sub-agents. */
export function outcomesIn(before: State, events: readonly RunEvent[]): Outcomes {
  if (!events.some(({ type }) => TELLING.has(type)) || !before.turn) return NONE;
  const found = new Map<string, CallOutcome>();
  read(before, events, undefined, found);
  return found;
}

const NONE: Outcomes = new Map();

const TELLING: ReadonlySet<RunEvent['type']> = new Set([
  'call-settled',
  'call-interrupted',
  'call-went-on',
  'call-ended-late',
  'decision-made',
  'run-ended',
]);

/** `at`: the time of the event that carries those of a sub-agent. */
function read(
  { turn }: State,
  events: readonly RunEvent[],
  at: number | undefined,
  found: Map<string, CallOutcome>,
): void {
  const calls = new Map(turn?.calls.map((call) => [call.id, call]));
  const decided = new Map<string, string>();
  const tell = (call: Call | undefined, outcome: CallOutcome): void => {
    if (!call) return;
    const last = decided.get(call.id);
    for (const id of call.decided?.ids ?? []) found.set(id, outcome);
    if (last !== undefined) found.set(last, outcome);
  };
  for (const event of events) {
    const time = event.at ?? at ?? null;
    switch (event.type) {
      case 'decision-made': {
        const call = calls.get(event.callId);
        const { type } = event.decision;
        const runs = type === 'approve' || type === 'restart';
        // A person lets a call in doubt run again.
        if (runs && isInDoubt(call)) tell(call, { state: 'running' });
        if (runs || (type === 'respond' && isInDoubt(call))) decided.set(event.callId, event.requestId);
        break;
      }
      case 'call-settled': {
        const call = calls.get(event.callId);
        tell(call, ofResult(event.result, time, isInDoubt(call)));
        break;
      }
      case 'call-ended-late':
        if (event.path === undefined) tell(calls.get(event.callId), ofResult(event.result, time, false));
        break;
      case 'call-interrupted': {
        const call = calls.get(event.callId);
        const { kind } = event.request;
        if (kind === 'doubt') tell(call, { state: 'unknown', at: time });
        if (kind === 'approval' || kind === 'unavailable') tell(call, notRun('changed', time));
        break;
      }
      case 'call-went-on': {
        const call = calls.get(event.callId);
        if (call) read(subAgentState(call), event.inside, time ?? undefined, found);
        break;
      }
      case 'run-ended':
        for (const call of calls.values()) tellEnded(call, time, tell);
    }
  }
}

/** The run ended before its calls did. */
function tellEnded(call: Call, at: number | null, tell: (call: Call, outcome: CallOutcome) => void): void {
  const { phase } = call;
  if (phase.at === 'settled') return;
  const isStarted = phase.at === 'started' && phase.progress !== 'uncommitted';
  tell(call, isStarted || isInDoubt(call) ? { state: 'unknown', at } : notRun('stopped', at));
  if (hasSubAgent(call)) for (const inner of subAgentState(call).turn?.calls ?? []) tellEnded(inner, at, tell);
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
