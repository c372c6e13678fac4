// The card of a question as it travels to a browser: the data of a `data-interrupt` part.
import type { Json } from '../../core/json.ts';
import type { JsonSchema } from '../../models/model.ts';

/** What fits a question. `edit` is an approval with another input. */
export type Allowed = 'approve' | 'edit' | 'reject' | 'respond' | 'restart' | 'cancel';

/** Why a decision was refused; `path` leads into the edited input or the answer. */
export type Problem = { readonly path: readonly string[]; readonly message: string };

/** What was decided, by whom, when and through what. */
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
  /** The answer that was given. */
  readonly output?: Json;
};

/** Everything that a person needs to decide, and that a decision is bound to. */
export type InterruptCard<Tool extends string = string, Input = Json> = {
  /** Of the interrupt: what a decision names. */
  readonly id: string;
  /** Of the tool part that it belongs to. */
  readonly toolCallId: string;
  readonly tool: Tool;
  readonly kind: 'approval' | 'question' | 'interrupt' | 'unknown-outcome' | 'unavailable';
  readonly status: 'pending' | 'decided';
  /** What would run. */
  readonly input: Input;
  /** What the asker wants shown. */
  readonly payload: Json;
  readonly risk: 'low' | 'medium' | 'high' | null;
  readonly labels: readonly string[];
  /** Times are in milliseconds. */
  readonly createdAt: number | null;
  readonly expiresAt: number | null;
  /** What is decided when nobody has by then. */
  readonly onExpiry: 'reject' | 'cancel' | 'approve' | null;
  readonly allows: readonly Allowed[];
  /** Whether the person who reads this may decide it; the server checks again. */
  readonly mayDecide: boolean;
  /** Of everything shown. A decision that carries it is refused if it was made on another card. */
  readonly digest: string;
  /** For an edit. */
  readonly inputSchema: JsonSchema | null;
  /** For an answer. */
  readonly answerSchema: JsonSchema | null;
  readonly decision: CardDecision | null;
  /** Why the last decision of this client was refused. */
  readonly problems: readonly Problem[];
};
