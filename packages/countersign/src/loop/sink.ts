// Where the events of a run that is kept go.
import type { State } from '../core/call.ts';
import type { RunEvent } from '../core/event.ts';

/** Where the events of a stored run go. */
export type Sink = {
  /** Takes events that the run has folded in; they become durable in this order. */
  write(events: readonly RunEvent[]): void;
  /** Resolves once everything written is durable; rejects if it cannot become so. */
  flushed(): Promise<void>;
  /** Asked right before something is done: false if others may have the run by now. */
  isHeld(): boolean;
};

/** Where a conversation inside a call of a stored run is kept, and what is on record of it. */
export type Within = {
  /** How it stands on record; absent where it has not begun. */
  readonly past?: State;
  /** What it was to begin or go on with is part of that. */
  readonly begun: boolean;
  readonly sink: Sink;
  /** Hears of what happens inside after the conversation has stopped here. */
  readonly late: (events: readonly RunEvent[]) => void;
  /** The time of the run that it is part of. */
  readonly clock?: () => number;
  /** True when that run is to be left, as it is, to another worker. */
  readonly stopping?: () => boolean;
  /** Calls it once no model is waited for any more. */
  readonly onGivenUp?: (giveUp: () => void) => () => void;
  /** Hears of calls inside that go on after an abort. */
  readonly onLeft?: (work: Promise<void>) => void;
};
