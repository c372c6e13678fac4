// The card of a request on the wire to a browser: the data of a `data-request` part.

import type { RuleMatch } from '../../core/authority/rule.ts';
import type { Missing } from '../../core/authority/tally.ts';
import type { Json } from '../../core/json.ts';
import type { CallOutcome } from '../../core/request/outcome.ts';
import type { Names } from '../../core/request/person.ts';
import type { RequestView, VotingProgress } from '../../core/request/view.ts';
import type { JsonSchema } from '../../models/model.ts';

/** The decisions that a request accepts. `edit` is an approval with another input. */
export type Allowed = 'approve' | 'edit' | 'revise' | 'reject' | 'respond' | 'restart' | 'cancel';

/** Why a decision was refused. `path` points into the edited input or the answer. */
export type Problem = { readonly path: readonly string[]; readonly message: string };

/** The recorded decision. */
export type CardDecision = {
  readonly type: 'approve' | 'reject' | 'revise' | 'respond' | 'restart' | 'cancel';
  readonly by: string | null;
  /** In milliseconds. */
  readonly at: number | null;
  readonly channel: string | null;
  readonly note: string | null;
  readonly reason?: string;
  /** The changes that the person asked for. */
  readonly comment?: string;
  /** The input that ran instead of the proposed one. */
  readonly edit?: Json;
  /** The answer. */
  readonly output?: Json;
};

/** A grant on a card: it let the call run, or it was given with the decision. */
export type CardGrant = {
  readonly id: string;
  /** `used`: it let the call run, and nobody was asked. `given`: the person who decided also allowed later calls. */
  readonly is: 'used' | 'given';
  /** The person who gave it. */
  readonly by: string | null;
  /** When the call was let run, or the grant was given, in milliseconds. */
  readonly at: number | null;
  /** How many calls it lets run in all, and how many it still does; absent where that is not known. */
  readonly uses?: number;
  readonly left?: number;
};

/** Which calls the rule lets run, and when it let this one run, in milliseconds. */
export type CardRule = RuleMatch & { readonly at: number | null };

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
export type CardProgress = Pick<VotingProgress, 'missing' | 'assignedTo' | 'escalatedTo' | 'round'> & {
  /** The votes that count now. */
  readonly votes: readonly CardVote[];
  /** Votes that are missing and that nobody who is known can give. */
  readonly outOfReach?: readonly Missing[];
  /** The newest comments, oldest first. */
  readonly comments?: readonly CardComment[];
};

/** What a person said about the request. */
export type CardComment = {
  readonly by: string;
  readonly text: string;
  /** In milliseconds. */
  readonly at: number | null;
};

/** Everything that a person needs to decide, and that the decision is bound to. */
export type RequestCard<Tool extends string = string, Input = Json> = Omit<RequestView<Tool, Input>, 'answerSchema'> & {
  /** The id of its tool part. */
  readonly toolCallId: string;
  readonly status: 'pending' | 'decided';
  /** The votes so far; null for an untouched request without a policy. */
  readonly progress: CardProgress | null;
  readonly allows: readonly Allowed[];
  /** Whether the reader may decide it. The server checks again. */
  readonly mayDecide: boolean;
  /** For an edit, and for the labels of the input; null for a question, and where the tool is not known. */
  readonly inputSchema: JsonSchema | null;
  /** For an answer. */
  readonly answerSchema: JsonSchema | null;
  readonly decision: CardDecision | null;
  /** What came of the call after the decision; null while the request is pending, and for an answer that nothing runs with. */
  readonly outcome: CallOutcome | null;
  /** Present if a grant let the call run, or was given with the decision. */
  readonly grant?: CardGrant;
  /** Present if a rule of the operator let the call run, and nobody was asked. */
  readonly rule?: CardRule;
  /** Present if the call ran unasked, and these rules would have asked about it. */
  readonly observed?: { readonly why: readonly string[]; readonly at: number };
  /** The names of people on the card, by their ids. */
  readonly names?: Names;
  /** Why the last decision of this client was refused. */
  readonly problems: readonly Problem[];
  /**
   * In a chat, what a message of the reader does now: it waits until this request is decided, withdraws it, or is refused.
   * If it waits for one request, it withdraws none.
   */
  readonly onMessage?: 'waits' | 'withdraws' | 'refused';
  /** In a chat: a message of the user waits until this request is decided. */
  readonly holdsMessage?: true;
};
