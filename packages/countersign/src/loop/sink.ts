// Where the events of a stored run, and of the sub-agents in it, are recorded.
import type { State } from '../core/call.ts';
import type { RunEvent } from '../core/event.ts';

export type Sink = {
  /** Takes events that the run has folded in; they become durable in this order. */
  write(events: readonly RunEvent[]): void;
  /** Resolves once everything written is durable; rejects if it cannot become so. */
  flushed(): Promise<void>;
  /** False if another worker may have taken over the run. Ask right before acting. */
  isHeld(): boolean;
};

/** The process that drives stored runs, which may have to stop in the middle of one. */
export type Worker = {
  isStopping(): boolean;
  /** Calls `giveUp` once a stopping process no longer waits for models. Returns how to unsubscribe. */
  onGiveUp(giveUp: () => void): () => void;
  /** Hears of calls that an abort does not wait for and that still run. */
  onLeft(work: Promise<void>): void;
};

/** Where a sub-agent in a stored run records its events, and the worker and clock of that run. */
export type SubAgentRecord = {
  /** The recorded state of its conversation; absent if it has not begun. */
  readonly past?: State;
  /** That state includes the prompt or the decisions that it was last started with. */
  readonly begun: boolean;
  readonly sink: Sink;
  /** Receives events that come after the sub-agent has stopped here. */
  readonly late: (events: readonly RunEvent[]) => void;
  readonly clock: () => number;
  readonly worker: Worker | undefined;
};
