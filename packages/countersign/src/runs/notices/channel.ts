// The port for channels, which send notices about requests: mail, Slack, a webhook.
import type { Json, JsonObject } from '../../core/json.ts';
import type { NoticeType } from '../../core/request/notice.ts';
import type { Names } from '../../core/request/person.ts';
import type { RunRequest } from '../requests/view.ts';

/**
 * Why a person gets a notice: their vote counts, the request is theirs, they stand in for someone, everyone is asked, a comment
 * names them, they take part in the discussion, they asked for the call, or they approved it.
 */
export type Reason =
  | 'decider'
  | 'assignee'
  | 'escalated'
  | 'delegate'
  | 'everyone'
  | 'mentioned'
  | 'involved'
  | 'told-before'
  | 'requester'
  | 'approver';

/** Where a person can be reached, and how they read dates and numbers. */
export type Contact = {
  /** Their name, which cards and messages show beside their id. */
  readonly name?: string;
  readonly mail?: string;
  /** The id of their Slack user. */
  readonly slack?: string;
  /** Such as `de-CH`. */
  readonly locale?: string;
  /** Such as `Europe/Zurich`. */
  readonly timeZone?: string;
};

/** A person who gets a notice, and the reason. */
export type Recipient = {
  readonly person: string;
  readonly why: Reason;
  /** The absent person whom they stand in for. */
  readonly onBehalfOf?: string;
  readonly contact: Contact;
};

/** Pages about a request. */
export type NoticeLinks = {
  /** The request in the inbox, for people who can sign in. */
  readonly request: string;
  /** The page on which this recipient decides without the inbox; absent if they cannot, or if there is not exactly one recipient. */
  readonly decide?: string;
};

/** Something that happened to a request, for the people it concerns. */
export type Notice = Pick<RunRequest, 'runId' | 'agent' | 'tool' | 'kind' | 'risk' | 'expiresAt'> & {
  /** The same for every attempt of this notice on this channel to this recipient. Receivers drop repeats by it. */
  readonly key: string;
  readonly type: NoticeType;
  /** When it happened, in milliseconds by the store's clock. */
  readonly at: number;
  /** Which reminder, escalation or comment it is, from 1; 0 for other notices. */
  readonly number: number;
  readonly requestId: string;
  /** The headline of the request; the name of its tool if that gives none. */
  readonly title: string;
  /** Everything that an approver sees; null if the tool keeps it out of notices (`notice: 'title-only'`). */
  readonly card: RunRequest | null;
  /** JSON Schema of the input, with the labels of its fields. */
  readonly inputSchema?: JsonObject | null;
  /** The names of people on the card, by their ids. They are shown; ids decide. */
  readonly names?: Names;
  /** How the request was settled; null while it is pending. */
  readonly settlement: RunRequest['settlement'];
  /** What came of the call after the decision; null while the request is pending. */
  readonly outcome: RunRequest['outcome'];
  /** One person on a channel for each person; all people concerned on a shared channel, which may be an empty list. */
  readonly to: readonly Recipient[];
  /** Null if no server with a public address sends the notice. */
  readonly links: NoticeLinks | null;
  /** 1 at first; higher after a failure. */
  readonly attempt: number;
};

/** News for one person that is not about a request. `delegate-named`: `delegate` may decide for them in this period. */
export type PersonNews = {
  /** The same for every attempt. Receivers drop repeats by it. */
  readonly key: string;
  readonly type: 'delegate-named';
  readonly person: string;
  readonly contact: Contact;
  /** When it happened, in milliseconds by the store's clock. */
  readonly at: number;
  readonly delegate: string;
  readonly from: number;
  readonly until: number;
  /** Who named the delegate. */
  readonly by: string;
};

/** What a channel gets with a notice. */
export type Delivering = {
  /** Aborts when the delivery takes too long or the process stops. */
  readonly signal: AbortSignal;
  /** What an earlier delivery about the request returned here; absent for the first. */
  readonly sent?: Json;
};

/**
 * A way to tell people about requests. Notices of one request reach a recipient in order. A delivery that throws is retried with
 * growing pauses, unless the error has `retryable: false`; `retryAfterMs` on the error says when at the earliest; `unreachable: true`
 * says that the person has no address here, which is no failure for somebody who only asked for the call. A delivery may
 * happen more than once, after a crash between the delivery and its record: pass `notice.key` on as the idempotency key.
 */
export interface Channel {
  /** Letters, digits and dashes. Deliveries are recorded under it, so it stays the same across releases. */
  readonly name: string;
  /** `person`: one delivery for each recipient. `shared`, the default: one for all of them. */
  readonly audience?: 'person' | 'shared';
  /** True for programs that want every notice. By default a request that is over is announced only where it was announced before. */
  readonly all?: boolean;
  /** How many deliveries run at once in a process; 4 by default. */
  readonly concurrency?: number;
  /** How long a delivery may take, in ms; 10,000 by default. */
  readonly timeoutMs?: number;
  /** What it returns is kept, and passed to later updates: the id of a message, for example. */
  deliver(notice: Notice, delivering: Delivering): Promise<Json | undefined> | Promise<void>;
  /** Changes what `deliver` sent about the request when it is over, and when its outcome is known. Without it, `deliver` gets these too. */
  update?(notice: Notice, sent: Json, delivering: Delivering): Promise<Json | undefined> | Promise<void>;
  /** Several notices to one person at once, as many as came in a burst. Without it, each is delivered alone. */
  digest?(notices: readonly Notice[], delivering: Delivering): Promise<void>;
  /** Tells one person that someone may decide for them. At least once; an error is retried. */
  inform?(news: PersonNews, delivering: Pick<Delivering, 'signal'>): Promise<void>;
  /** Checks the set-up without sending anything, and throws an error that names the fault. */
  check?(): Promise<void>;
  close?(): Promise<void>;
}
