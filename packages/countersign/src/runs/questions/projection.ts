// The fields of an append beside its events: status, deadline, outcome, and the questions it opens and settles.
import { isObject, type Json, type JsonObject } from '../../core/json.ts';
import { type Limits, next } from '../../core/next.ts';
import type { State } from '../../core/state.ts';
import type { Append, RunStatus } from '../port/store.ts';
import { cardRecord, pendingCards } from './card.ts';

export type ProjectionInput = {
  readonly run: { readonly id: string; readonly agent: string };
  readonly before: State;
  readonly after: State;
  readonly limits: Limits;
  readonly now: number;
  /** The settlements, by the key of the question. */
  readonly settlements: ReadonlyMap<string, Json>;
};

export function project(input: ProjectionInput): Pick<Append, 'status' | 'wakeAt' | 'outcome' | 'opened' | 'settled'> {
  const { run, after, limits, now } = input;
  const before = pendingCards(run.id, input.before);
  const cards = pendingCards(run.id, after);
  const status = statusOf(after, limits);
  return {
    status,
    wakeAt: wakeAtOf(cards.values()),
    outcome: outcomeOf(after, status),
    opened: [...cards]
      .filter(([key]) => !before.has(key))
      .map(([key, card]) => cardRecord(key, card, run.id, run.agent, now)),
    settled: [...before]
      .filter(([key]) => !cards.has(key))
      .map(([id]) => ({
        id,
        settlement: input.settlements.get(id) ?? { withdrawn: true, at: now },
      })),
  };
}

export function statusOf(state: State, limits: Limits): RunStatus {
  if (state.ended?.reason === 'aborted') return 'cancelled';
  const step = next(state, limits);
  if (step.do === 'finish') return 'done';
  return step.do === 'wait' ? 'waiting' : 'running';
}

/** The earliest deadline of a pending question. */
function wakeAtOf(cards: Iterable<{ readonly interrupt: { readonly expiresAt?: number } }>): number | null {
  const deadlines = [...cards].flatMap(({ interrupt }) => interrupt.expiresAt ?? []);
  return deadlines.length > 0 ? Math.min(...deadlines) : null;
}

/** The finish reason of the last reply counts only if nothing follows it. */
function outcomeOf(state: State, status: RunStatus): Json {
  const reason = state.ended?.reason ?? (status === 'done' ? state.reply?.finishReason : undefined);
  return withUsage(reason === undefined ? null : { finishReason: reason }, state);
}

/** Adds the tokens of the run to its outcome, so that lists have them without reading events. */
export function withUsage(outcome: Json, { usage }: State): Json {
  return usage ? { ...(isObject(outcome) ? (outcome as JsonObject) : {}), usage } : outcome;
}
