// What callers say beside what they want of runs: who decides, which page, from where on.
import type { InterruptKind } from '../core/event.ts';
import type { Chunk } from '../loop/stream/chunk.ts';
import type { Context } from '../loop/tool/definition.ts';
import type { InterruptQuery, RunQuery } from './port/store.ts';
import type { ProposedDecision } from './questions/policy.ts';

/** Who decides, through what, and on which card. */
export type DecideOptions<C extends Context = Context> = {
  /** Who decides. */
  readonly by?: string;
  /** Through what: an inbox, a chat, a terminal. */
  readonly channel?: string;
  /** What the person wants kept beside the decision. */
  readonly note?: string;
  /** Of the card that the decision was made on; a decision on another card is refused. */
  readonly digest?: string;
  /**
   * Asked right before the decision is recorded, with the input that would run if it is. Anything but `true` refuses it as
   * `not-allowed`, and nothing is recorded. It sees the state of the run that the decision is recorded on, and is asked
   * again if that changes in between.
   */
  readonly mayDecide?: (proposed: ProposedDecision) => boolean | Promise<boolean>;
  /** What tools get while this process drives the run on. It is not stored. */
  readonly context?: C;
  /** Hears of what happens while this process drives the run. One that throws is not called again. */
  readonly onChunk?: (chunk: Chunk) => void;
  /** False: somebody else drives the run on. */
  readonly drive?: boolean;
};

/** Who cancels, and why. */
export type CancelOptions = { readonly by?: string; readonly reason?: string };

/** Which runs, and which page of them: `cursor` is that of the page before, `limit` 50 unless given. */
export type RunListOptions = Partial<Omit<RunQuery, 'after'>> & { readonly cursor?: string };
/** Which questions, and which page of them: `cursor` is that of the page before, `limit` 50 unless given. */
export type InterruptListOptions = Partial<Omit<InterruptQuery, 'after' | 'kind'>> & {
  readonly kind?: InterruptKind;
  readonly cursor?: string;
};

/** From where on a run is followed: `after` is the last `seq` that was seen. `signal` ends the following. */
export type FollowOptions = { readonly after?: number; readonly signal?: AbortSignal };

/** Until when a run is waited for: it waits for a person or has ended, or has ended. `signal` ends the waiting. */
export type WaitOptions = { readonly until?: 'pause' | 'end'; readonly signal?: AbortSignal };
