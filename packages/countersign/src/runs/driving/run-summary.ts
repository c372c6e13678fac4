// The summary of a run when this process stops driving it, without reading it again.
import { textOf } from '../../core/messages/message.ts';
import type { Limits } from '../../core/run/next.ts';
import type { State } from '../../core/run/state.ts';
import type { RunStatus } from '../port/store.ts';
import { pendingCards } from '../requests/card.ts';
import { statusOf } from '../requests/projection.ts';

/** The status of a run when this process stops driving it. */
export type RunSummary = {
  readonly id: string;
  readonly status: RunStatus;
  readonly text: string;
  /** The ids of the pending requests. */
  readonly pending: readonly string[];
};

export function summaryOf(id: string, state: State, limits: Limits, failed: boolean): RunSummary {
  const said = state.turn?.content ?? state.history.last?.content ?? [];
  const status = failed ? 'failed' : statusOf(state, limits);
  return { id, status, text: textOf(said), pending: [...pendingCards(id, state).keys()] };
}
