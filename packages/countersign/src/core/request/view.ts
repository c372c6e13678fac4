// A request as people and programs see it: in lists, on cards, in notices and on the wire. Null stands for what it does not have.

import type { Escalated, Policies, Vote } from '../authority/policy.ts';
import type { Missing } from '../authority/tally.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Origins } from '../origin/origin.ts';
import type { Comment } from './comment.ts';
import {
  askedAnswer,
  type Doubt,
  type Escalation,
  type Preview,
  type Previous,
  previewsOf,
  type Request,
  type RequestKind,
  type Review,
  type Shown,
  type Wait,
} from './request.ts';

/** A request, pending or settled. Times are in milliseconds. */
export type RequestView<Tool extends string = string, Input = Json> = {
  /** The id that a decision names. */
  readonly id: string;
  readonly tool: Tool;
  readonly kind: RequestKind;
  /** The headline of the request, such as `Pay €950 to ACME`; null if its tool gave none. `input` says exactly what would run. */
  readonly title: string | null;
  /** The headline before the person who decided edited the input; null if they did not. */
  readonly earlierTitle: string | null;
  /** Why the model makes the call, in its own words; null if its tool does not ask for a reason. */
  readonly agentReason: string | null;
  /** The input that would run, with the defaults of the schema. */
  readonly input: Input;
  /** What the tool wants the person to see. */
  readonly payload: Json;
  readonly risk: NonNullable<Shown['risk']> | null;
  readonly labels: readonly string[];
  /** Whether the effect can be undone, as the tool says; null if it does not say. */
  readonly reversibility: NonNullable<Shown['reversibility']> | null;
  /** Its tool has an `undo`, so that what it does can be undone. */
  readonly hasUndo: boolean;
  /** What the tool says would happen, or why that could not be computed; null if it has no `preview`. */
  readonly preview: Preview | null;
  /** The preview that was approved before, if it has changed since. */
  readonly earlierPreview: Preview | null;
  /** `title-only` if its tool keeps the rest out of notices; null if it does not. */
  readonly notice: 'title-only' | null;
  /** Whether the model reads the comments if the request is rejected or sent back. */
  readonly commentsForModel: boolean;
  /** When a call whose outcome is unknown was started, by whose approval, and where to look; null for all other requests. */
  readonly doubt: Doubt | null;
  /** The request that this one revises, because a person asked for changes; null if it is the first round. */
  readonly previous: Previous | null;
  /** What reviewers say about the call: advice. Empty if no policy asks for a review. */
  readonly reviews: readonly Review[];
  /** Where the values of the input came from; absent where that was not searched. */
  readonly origins?: Origins;
  readonly createdAt: number | null;
  readonly expiresAt: number | null;
  /** The decision that is made automatically at `expiresAt`. */
  readonly onExpiry: NonNullable<Wait['onExpiry']> | null;
  /** When people are reminded. */
  readonly reminders: readonly number[];
  /** When more people may decide. */
  readonly escalate: readonly Escalation[];
  /** Who must decide. All of them must be satisfied. */
  readonly policies: Policies;
  /** Who took part before the request: the starter of the run, the author of the message, and editors. */
  readonly requesters: readonly string[];
  /** JSON Schema of the answer; null if nothing is asked for, or any JSON is accepted. */
  readonly answerSchema: JsonObject | null;
  /** The hash of everything shown. A decision with another digest is refused. */
  readonly digest: string;
};

/** What a request has collected: the votes that count now, and those that are missing. */
export type VotingProgress = {
  readonly votes: readonly Vote[];
  readonly missing: readonly Missing[];
  readonly escalatedTo: readonly Escalated[];
  readonly assignedTo: string | null;
  /** How often it was assigned to a person, and when it was last; absent if it never was. */
  readonly assignments?: number;
  readonly assignedAt?: number;
  /** 1, and one more for each edit that others had to agree to. */
  readonly round: number;
  /** The newest comments, oldest first; absent if there are none. */
  readonly comments?: readonly Comment[];
  /** The policies that were applied after the request was made. */
  readonly policies?: Policies;
  readonly reviews?: readonly Review[];
  /** The escalations of the policies that count now, if those on the card do not count any more. */
  readonly escalate?: readonly Escalation[];
};

type About = Pick<RequestView, 'id' | 'tool' | 'input' | 'createdAt' | 'digest' | 'policies'>;

/** `policies`: those that count now. */
export function viewOfRequest(request: Request, about: About): RequestView {
  const { kind, shown, wait, authority } = request;
  return {
    ...NOTHING,
    ...about,
    kind,
    ...shown,
    ...wait,
    onExpiry: wait?.expiresAt === undefined ? null : (wait.onExpiry ?? 'reject'),
    requesters: authority.requesters,
    ...previewsOf(request),
    answerSchema: askedAnswer(request)?.answerSchema ?? null,
  };
}

const NOTHING = {
  title: null,
  earlierTitle: null,
  agentReason: null,
  risk: null,
  labels: [],
  reversibility: null,
  hasUndo: false,
  notice: null,
  commentsForModel: false,
  doubt: null,
  previous: null,
  reviews: [],
  preview: null,
  earlierPreview: null,
  expiresAt: null,
  reminders: [],
  escalate: [],
} as const;
