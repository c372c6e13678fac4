// The options of `ai.runs`.
import type { InterruptKind } from '../core/event.ts';
import type { Chunk } from '../loop/stream/chunk.ts';
import type { Context } from '../loop/tool/definition.ts';
import type { InterruptQuery, RunQuery } from './port/store.ts';
import type { ProposedDecision } from './questions/policy.ts';

/** Options of a decision. */
export type DecideOptions<C extends Context = Context> = {
  /** Who decides. */
  readonly by?: string;
  /** The channel, such as `inbox`, `chat` or `cli`. */
  readonly channel?: string;
  /** A note that is recorded with the decision. */
  readonly note?: string;
  /** The digest of the card that the person saw. A decision on another card is refused. */
  readonly digest?: string;
  /**
   * Asked right before the decision is recorded, with the input that would run if it is. Anything but `true` refuses it as
   * `not-allowed`, and nothing is recorded. It sees the state of the run that the decision is recorded on, and is asked
   * again if that changes in between.
   */
  readonly mayDecide?: (proposed: ProposedDecision) => boolean | Promise<boolean>;
  /** The context of the tools while this process drives the run. It is not stored. */
  readonly context?: C;
  /** Called with each chunk while this process drives the run. A listener that throws is not called again. */
  readonly onChunk?: (chunk: Chunk) => void;
  /** Pass false to leave the run to another worker. */
  readonly drive?: boolean;
};

/** Options of `cancel`: the person who cancels, and a reason. */
export type CancelOptions = { readonly by?: string; readonly reason?: string };

/** Selects runs. `cursor` comes from the page before; `limit` is 50 by default. */
export type RunListOptions = Partial<Omit<RunQuery, 'after'>> & { readonly cursor?: string };
/** Selects questions. `cursor` comes from the page before; `limit` is 50 by default. */
export type InterruptListOptions = Partial<Omit<InterruptQuery, 'after' | 'kind'>> & {
  readonly kind?: InterruptKind;
  readonly cursor?: string;
};

/** Options of following a run: `after` is the last `seq` seen, `signal` stops it. */
export type FollowOptions = { readonly after?: number; readonly signal?: AbortSignal };

/** Options of `wait`: `pause` also resolves when the run waits for a person. `signal` stops waiting. */
export type WaitOptions = { readonly until?: 'pause' | 'end'; readonly signal?: AbortSignal };
