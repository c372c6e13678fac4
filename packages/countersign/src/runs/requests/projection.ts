// The fields of an append beside its events: status, deadline, outcome, and the requests it opens and settles.

import { nextDueAt, type Waiting } from '../../core/authority/due.ts';
import { isObject, type Json, type JsonObject } from '../../core/json.ts';
import { hostUntil } from '../../core/run/call.ts';
import type { RunEvent } from '../../core/run/event.ts';
import { type Limits, next } from '../../core/run/next.ts';
import type { Outcomes } from '../../core/run/outcomes.ts';
import type { State } from '../../core/run/state.ts';
import type { Append, EndedRequest, NewRequest, NewRun, ProgressedRequest, RunStatus } from '../port/store.ts';
import { cardRecord, decidersOn, outcomesOf, type PendingCard, pendingCards } from './card.ts';
import { progressOn } from './progress.ts';
import { unaskedRows } from './unasked-rows.ts';
import { waitingOn } from './waiting/escalation.ts';

export type ProjectionInput = {
  readonly run: NewRun;
  readonly before: State;
  readonly after: State;
  readonly limits: Limits;
  readonly now: number;
  /** The settlements, by the key of the request. */
  readonly settlements: ReadonlyMap<string, Json>;
  /** What led from the state before to the state after. */
  readonly events: readonly RunEvent[];
};

type Projection = Pick<Append, 'status' | 'wakeAt' | 'outcome' | 'opened' | 'settled' | 'progressed' | 'ended'>;

export function project(input: ProjectionInput): Projection {
  const { run, after, limits, now, events } = input;
  const outcomes = outcomesOf(run.id, input.before, events);
  const before = pendingCards(run.id, input.before);
  const cards = pendingCards(run.id, after);
  const status = statusOf(after, limits);
  const unasked = unaskedRows({ run, now, outcomes }, input.before, events);
  return {
    status,
    wakeAt: wakeAtOf([...cards.values()].map(waitingOn), after),
    outcome: outcomeOf(after, status),
    opened: [
      ...[...cards]
        .filter(([key]) => !before.has(key))
        .map(([key, card]) => ({ ...cardRecord(key, card, run.id, run.agent, now), ...progressIn(card) })),
      ...unasked,
    ],
    settled: [...before]
      .filter(([key]) => !cards.has(key))
      .map(([id]) => ({
        id,
        settlement: input.settlements.get(id) ?? { withdrawn: true, at: now },
        ...(outcomes.has(id) && { outcome: outcomes.get(id) as Json }),
      })),
    ...(input.before.ballots !== after.ballots && { progressed: progressedIn(before, cards) }),
    ...(outcomes.size > 0 && { ended: endedIn(outcomes, before, unasked) }),
  };
}

/** Those of requests that were settled earlier. */
function endedIn(outcomes: Outcomes, pending: Cards, opened: readonly NewRequest[]): readonly EndedRequest[] {
  const isNow = (id: string): boolean => pending.has(id) || opened.some((row) => row.id === id);
  return [...outcomes].flatMap(([id, outcome]) => (isNow(id) ? [] : [{ id, outcome: outcome as Json }]));
}

function progressedIn(before: Cards, after: Cards): readonly ProgressedRequest[] {
  return [...after].flatMap(([id, card]) => {
    const earlier = before.get(id);
    if (!earlier || earlier.progress === card.progress) return [];
    return [{ id, progress: null, deciders: decidersOn(card), ...progressIn(card) }];
  });
}

type Cards = ReadonlyMap<string, PendingCard>;

/** Only where something has happened to the request: a card without it has what its policy asks for. */
function progressIn(card: PendingCard): { readonly progress?: Json } {
  return card.progress ? { progress: progressOn(card) as Json } : {};
}

export function statusOf(state: State, limits: Limits): RunStatus {
  if (state.ended?.reason === 'aborted') return 'cancelled';
  const step = next(state, limits);
  if (step.do === 'finish') return 'done';
  return step.do === 'wait' ? 'waiting' : 'running';
}

/** The earliest deadline or escalation of a pending request, or end of a start that a program outside was granted. */
function wakeAtOf(waiting: readonly Waiting[], { turn }: State): number | null {
  const ends = turn?.calls.flatMap((call) => hostUntil(call) ?? []) ?? [];
  const times = [...waiting.flatMap((question) => nextDueAt(question) ?? []), ...ends];
  return times.length > 0 ? Math.min(...times) : null;
}

/** The finish reason of the last reply counts only if nothing follows it. */
function outcomeOf(state: State, status: RunStatus): Json {
  const reason = state.ended?.reason ?? (status === 'done' ? state.reply?.finishReason : undefined);
  return withUsage(reason === undefined ? null : { finishReason: reason }, state);
}

/** Adds what lists show of the run, so that they need not read events: its tokens, and how many calls have failed. */
export function withUsage(outcome: Json, { usage, failures }: State): Json {
  if (!usage && failures === 0) return outcome;
  const before = isObject(outcome) ? (outcome as JsonObject) : {};
  return { ...before, ...(usage && { usage }), ...(failures > 0 && { failures }) };
}
