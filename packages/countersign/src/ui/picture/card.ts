// The card of a request, as it is sent to a browser: the data of a `data-interrupt` part.
import type { Preview, Reversibility } from '../../core/event.ts';
import type { Json } from '../../core/json.ts';
import type { JsonSchema } from '../../models/model.ts';

/** The decisions that a request accepts. `edit` is an approval with another input. */
export type Allowed = 'approve' | 'edit' | 'reject' | 'respond' | 'restart' | 'cancel';

/** Why a decision was refused. `path` points into the edited input or the answer. */
export type Problem = { readonly path: readonly string[]; readonly message: string };

/** The recorded decision. */
export type CardDecision = {
  readonly type: 'approve' | 'reject' | 'respond' | 'restart' | 'cancel';
  readonly by: string | null;
  /** In milliseconds. */
  readonly at: number | null;
  readonly channel: string | null;
  readonly note: string | null;
  readonly reason?: string;
  /** The input that ran instead of the proposed one. */
  readonly edit?: Json;
  /** The answer. */
  readonly output?: Json;
};

/** Everything that a person needs to decide, and that the decision is bound to. */
export type InterruptCard<Tool extends string = string, Input = Json> = {
  /** The id of the interrupt, which a decision names. */
  readonly id: string;
  /** The id of its tool part. */
  readonly toolCallId: string;
  readonly tool: Tool;
  /** The headline, such as `Pay €950 to ACME`; null if the tool gave none. `input` says exactly what would run. */
  readonly title: string | null;
  readonly kind: 'approval' | 'question' | 'interrupt' | 'unknown-outcome' | 'unavailable';
  readonly status: 'pending' | 'decided';
  /** The input that would run. */
  readonly input: Input;
  /** What the tool wants the person to see. */
  readonly payload: Json;
  readonly risk: 'low' | 'medium' | 'high' | null;
  readonly labels: readonly string[];
  /** Whether the effect can be undone, as the tool says; null if it does not say. */
  readonly reversibility: Reversibility | null;
  /** What the tool says would happen, or why that could not be computed; null if it has no `preview`. */
  readonly preview: Preview | null;
  /** The preview that was approved before, if it has changed since. */
  readonly earlierPreview: Preview | null;
  /** Times are in milliseconds. */
  readonly createdAt: number | null;
  readonly expiresAt: number | null;
  /** The decision that is made automatically at `expiresAt`. */
  readonly onExpiry: 'reject' | 'cancel' | 'approve' | null;
  readonly allows: readonly Allowed[];
  /** Whether the reader may decide it. The server checks again. */
  readonly mayDecide: boolean;
  /** The hash of everything shown. A decision with another digest is refused. */
  readonly digest: string;
  /** For an edit. */
  readonly inputSchema: JsonSchema | null;
  /** For an answer. */
  readonly answerSchema: JsonSchema | null;
  readonly decision: CardDecision | null;
  /** Why the last decision of this client was refused. */
  readonly problems: readonly Problem[];
};
