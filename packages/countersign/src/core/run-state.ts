// What is known of a run.
import type { Turn } from './call.ts';
import type { FinishReason } from './event.ts';
import type { GrowList, GrowSet } from './grow.ts';
import type { Message } from './message.ts';

/** A call that failed and may have taken effect all the same. */
export type MayHaveActed = { readonly name: string; readonly ref: string; readonly text: string };

export type State = {
  /** Everything before the open turn. */
  readonly history: GrowList<Message>;
  /** Every `ref` used in the run. */
  readonly refs: GrowSet<string>;
  readonly mayHaveActed: readonly MayHaveActed[];
  readonly turn?: Turn;
  /** What the user said while a decision was pending, kept until it is made. */
  readonly queued: readonly Message[];
  /** Replies of the model since the user last spoke. */
  readonly turnsUsed: number;
  /** How the last reply ended, while nothing came after it. */
  readonly reply?: { readonly finishReason: FinishReason; readonly finishMessage?: string };
  readonly ended?: { readonly reason: FinishReason; readonly message?: string };
};
