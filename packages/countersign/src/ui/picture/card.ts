// The card of a request on the wire to a browser: the data of a `data-interrupt` part.

import type { Policies, Who } from '../../core/authority/policy.ts';
import type { Missing } from '../../core/authority/tally.ts';
import type { Json } from '../../core/json.ts';
import type { Preview, Reversibility } from '../../core/run/event.ts';
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

/** One vote on a request that several people decide. */
export type CardVote = {
  readonly by: string | null;
  /** The person whom the voter stands in for. */
  readonly onBehalfOf: string | null;
  readonly type: CardDecision['type'];
  /** In milliseconds. */
  readonly at: number | null;
  readonly note: string | null;
  /** It proposes another input, which the card shows. */
  readonly isEdit: boolean;
  /** The reader of the card gave it. They can change it while the request is open. */
  readonly isYours: boolean;
};

/** What a request has collected so far. */
export type CardProgress = {
  /** The votes that count now. */
  readonly votes: readonly CardVote[];
  readonly missing: readonly Missing[];
  readonly assignedTo: string | null;
  /** The votes of these people count in every group. */
  readonly escalatedTo: readonly Who[];
  /** 1, and one more for each edit that others must agree to. Votes before an edit do not count. */
  readonly round: number;
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
  /** Who must decide; null if one decision settles it. */
  readonly policies: Policies;
  /** Who took part before the request. With four eyes, they cannot approve it. */
  readonly requesters: readonly string[];
  /** The votes so far; null for an untouched request without a policy. */
  readonly progress: CardProgress | null;
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
