// The desk: what commands need to look at runs and to decide, whether a store or a server is behind it.
import type { Decided, DecisionInput, InterruptListOptions, Message, RunListOptions } from 'countersign';
import type { Page, RunRecord, StoredEvent } from 'countersign/store';
import type { InterruptCard } from 'countersign/ui';
import type { Hold } from '../../schemas/interrupt.ts';

/** A question with where it comes from. */
export type DeskCard = InterruptCard & {
  readonly runId: string;
  readonly agent: string;
  readonly startedBy: string | null;
  /** Who works on it now, as far as somebody said so. */
  readonly hold: Hold | null;
};

export type DeskRun = Pick<RunRecord, 'id' | 'agent' | 'status' | 'startedBy' | 'createdAt' | 'updatedAt' | 'version'>;

export type DeskRunView = DeskRun & {
  readonly messages: readonly Message[];
  readonly text: string;
  readonly finishReason: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly pending: readonly string[];
};

/** An event of a run; `seq` counts from 1. */
export type DeskEvent = StoredEvent & { readonly seq: number };

/** Which questions are listed. */
export type CardQuery = Pick<
  InterruptListOptions,
  'settled' | 'agent' | 'tool' | 'runId' | 'search' | 'order' | 'cursor' | 'limit'
>;

export type RunsQuery = Pick<RunListOptions, 'status' | 'agent' | 'startedBy' | 'cursor' | 'limit'>;

export type DecideHow = { readonly digest?: string; readonly note?: string };

export interface Desk {
  /** As it is said to people. */
  readonly where: string;
  /** Who decides here, where that is known. */
  readonly person: string | undefined;
  runs(query: RunsQuery): Promise<Page<DeskRun>>;
  run(runId: string): Promise<DeskRunView>;
  /** Those after `after`, until now. */
  events(runId: string, after?: number): Promise<readonly DeskEvent[]>;
  /** As they happen, until the run has ended; comes back after a cut, of which `reached` hears. */
  follow(runId: string, signal: AbortSignal, reached?: (isThere: boolean) => void): AsyncIterable<DeskEvent>;
  cards(query: CardQuery): Promise<Page<DeskCard>>;
  card(interruptId: string): Promise<DeskCard>;
  decide(interruptId: string, decision: DecisionInput, how?: DecideHow): Promise<Decided>;
  /** Tells others that this person works on it, or still does. It locks nothing. Rejects with `claimed` if another does. */
  hold(interruptId: string): Promise<Hold>;
  /** Gives it back. Rejects with `claimed` if it is another's. */
  release(interruptId: string): Promise<void>;
  /** Calls `changed` soon after something may have changed, `reached` where it is known. Returns how to stop. */
  watch(changed: () => void, reached?: (isThere: boolean) => void): () => void;
  close(): Promise<void>;
}
