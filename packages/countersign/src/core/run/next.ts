// The next step of a run: a pure function of its state.
import { type Call, frozenIn, owesRecall } from './call.ts';
import type { FinishReason } from './event.ts';
import type { State } from './state.ts';

export type Limits = {
  readonly maxTurns: number;
  /** The caller wants to see the calls first: only approved ones run. */
  readonly holdCalls?: boolean;
  /** The run is one call of a program outside: its body runs only while this program, its caller, asks for it. */
  readonly awaitCaller?: boolean;
};

export type Step =
  | { readonly do: 'call-model' }
  | { readonly do: 'run-calls'; readonly calls: readonly Call[] }
  /** These calls were started, and their outcome is unknown. */
  | { readonly do: 'settle-doubt'; readonly calls: readonly Call[] }
  | { readonly do: 'wait' }
  | { readonly do: 'stop'; readonly reason: FinishReason }
  | { readonly do: 'finish' };

const WAIT: Step = { do: 'wait' };
const FINISH: Step = { do: 'finish' };
const CALL_MODEL: Step = { do: 'call-model' };

export function next(state: State, limits: Limits): Step {
  if (state.ended) return FINISH;
  if (state.turn) {
    const doubtful: Call[] = [];
    const ready: Call[] = [];
    for (const call of state.turn.calls) {
      // A frozen call that had started may not go on either.
      if (call.phase.at === 'started' && call.phase.host === undefined && !call.frozen) doubtful.push(call);
      else if (isReady(call, limits)) ready.push(call);
    }
    if (doubtful.length > 0) return { do: 'settle-doubt', calls: doubtful };
    return ready.length > 0 ? { do: 'run-calls', calls: ready } : WAIT;
  }
  if (state.reply && state.history.last?.role === 'model') return FINISH;
  if (state.turnsUsed >= limits.maxTurns) return { do: 'stop', reason: 'max-turns' };
  return CALL_MODEL;
}

function isReady(call: Call, { holdCalls, awaitCaller }: Limits): boolean {
  const { phase, frozen, subAgent } = call;
  const { at } = phase;
  if (frozen || (at === 'sub-agent-held' && subAgent?.recorded && frozenIn(subAgent.recorded.state))) return false;
  if (at === 'cleared') return !awaitCaller || owesRecall(call);
  return !holdCalls && (at === 'open' || at === 'sub-agent-held');
}
