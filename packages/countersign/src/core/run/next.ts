// The next step of a run: a pure function of its state.
import { type Call, hostUntil } from './call.ts';
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

const isStarted = (call: Call): boolean => call.phase.at === 'started' && hostUntil(call) === undefined;

export function next(state: State, limits: Limits): Step {
  if (state.ended) return { do: 'finish' };
  if (state.turn) {
    const { calls } = state.turn;
    if (calls.some(isStarted)) return { do: 'settle-doubt', calls: calls.filter(isStarted) };
    const ready = calls.filter((call) => isReady(call, limits));
    return ready.length > 0 ? { do: 'run-calls', calls: ready } : { do: 'wait' };
  }
  if (state.reply && state.history.last?.role === 'model') return { do: 'finish' };
  if (state.turnsUsed >= limits.maxTurns) return { do: 'stop', reason: 'max-turns' };
  return { do: 'call-model' };
}

function isReady({ phase: { at } }: Call, { holdCalls, awaitCaller }: Limits): boolean {
  if (at === 'cleared') return !awaitCaller;
  return !holdCalls && (at === 'open' || at === 'sub-agent-held');
}
