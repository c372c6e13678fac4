// Events: the facts that a run consists of.

import type { Policies, Vote, Who } from '../authority/policy.ts';
import { defined, type Json, type JsonObject } from '../json.ts';
import type { Message, Metadata, Part } from '../messages/message.ts';
import { addUsage, readUsage, type Usage } from './usage.ts';

/** The version that new events are written in. */
export const EVENT_VERSION = 1;

/**
 * What kind of question a call puts to a person.
 * `question`: the call itself is the question. `interrupt`: the tool's body asks. `approval`: the gate asks before the body.
 * `unknown-outcome`: the body was started and its outcome is unknown. `unavailable`: a person approved the call, but its tool
 * is missing or no longer takes its input.
 */
export type InterruptKind = 'question' | 'interrupt' | 'approval' | 'unknown-outcome' | 'unavailable';

/** A question to a person. Times are in milliseconds. */
export type Interrupt = {
  /** Unique; a second question of the same call has another id. */
  readonly id: string;
  readonly kind: InterruptKind;
  /** One line for people that says what would happen. The input says exactly what. */
  readonly title?: string;
  /** What the asker wants shown; `true` if nothing was given. */
  readonly payload: Json;
  /** When the question expires, `onExpiry` is the decision. */
  readonly expiresAt?: number;
  readonly onExpiry?: 'reject' | 'cancel' | 'approve';
  /** The first reminder. */
  readonly remindAt?: number;
  /** All reminders, if there are several. */
  readonly reminders?: readonly number[];
  readonly escalate?: readonly Escalation[];
  readonly labels?: readonly string[];
  readonly risk?: 'low' | 'medium' | 'high';
  /** Who must decide. All of them must be satisfied. */
  readonly policies: Policies;
  /** Who took part before: the starter of the run, the author of the message that led to the call, and earlier editors. */
  readonly requesters?: readonly string[];
  readonly reversibility?: Reversibility;
  /** What would happen if the call ran, as its tool computed it when it asked. */
  readonly preview?: Preview;
  /** The preview that was approved before. It has changed since, so the call asks again. */
  readonly earlierPreview?: Preview;
  /** Mail, chat messages and the like show only the title. */
  readonly notice?: 'title-only';
  /** JSON Schema of the answer that the body asks for. The body continues with it. */
  readonly answerSchema?: JsonObject;
  /** The body also continues if a person rejects its question. */
  readonly onReject?: 'resume';
} & Bound;

/** What the body continues with after an answer to its question; undefined if the decision does not continue it like that. */
export function answerFor(asked: Interrupt | undefined, decision: Decision): JsonObject | undefined {
  if (asked?.answerSchema === undefined) return undefined;
  if (decision.type === 'respond') return { answer: decision.output };
  if (decision.type !== 'reject' || asked.onReject !== 'resume') return undefined;
  return { rejected: true, ...defined({ reason: decision.reason }) };
}

/**
 * From then on, these people may decide too. `manager`: the managers of those who could decide before. `policy`: the place of the
 * policy for which they count; every policy if absent.
 */
export type Escalation = { readonly at: number; readonly to: Who | 'manager'; readonly policy?: number };

/** Whether the effect of a call can be undone, as its tool says. */
export type Reversibility = 'read-only' | 'reversible' | 'irreversible';

/** What a tool says would happen; `failed` says why that could not be computed. */
export type Preview = { readonly value: Json } | { readonly failed: string };

/**
 * The input that an approved call runs with. `runsWith`: the input as the tool's schema parsed it, if that differs. `readAnew`: the
 * schema rejects its own output, so the input is parsed again when the call runs. Neither: the input itself.
 */
export type Bound =
  | { readonly runsWith?: Json; readonly readAnew?: never }
  | { readonly readAnew: true; readonly runsWith?: never };

/** The sub-agent of a call asks; its questions are recorded in its own conversation. */
export type SubAgentPause = { readonly id: string; readonly kind: 'inside'; readonly payload: true };

/** The decider of a question that has expired. */
export const DEADLINE = 'deadline';

/** A deadline has no channel, so a person named `deadline` does not count as one. */
export function isByDeadline({ by, channel }: Signed): boolean {
  return by === DEADLINE && channel === undefined;
}

/** The person who decided, the channel they used, and their note. */
type Signed = { readonly by?: string; readonly channel?: string; readonly note?: string; readonly metadata?: Json };

/** The edited input as the tool's schema parsed it when it was decided, if that differs. */
export type EditBound = { readonly runsWith?: Json };

/**
 * Without `bound`, the schema parses the edit again when the call runs, because it was missing or rejects its own output.
 * A call that `returnToolRequests` handed out has `bound` even without an edit, because no card showed its input.
 */
type Edited = {
  readonly input?: Json;
  readonly bound?: EditBound;
  /** Who edited the input, if others had to agree. */
  readonly editedBy?: string;
};

/** What a request shows and asks for after an edit, as the gate says of the edited input. */
export type Reasked = Pick<
  Interrupt,
  'title' | 'payload' | 'labels' | 'risk' | 'reversibility' | 'preview' | 'earlierPreview' | 'policies'
>;

/** A person's answer to one interrupt. `input` is present if they edited it. */
export type Decision = Signed &
  (
    | { readonly type: 'respond'; readonly output: Json }
    | ({ readonly type: 'restart'; readonly resumed: Json } & Edited)
    | ({ readonly type: 'approve' } & Edited)
    | { readonly type: 'reject'; readonly reason?: string }
    | { readonly type: 'cancel'; readonly reason?: string }
    /** On questions of a sub-agent: `resume` are the decisions, `decided` a note of each for the history. */
    | { readonly type: 'inside'; readonly resume: Json; readonly decided: Json }
  );

/** How a call ended, as the model reads it. `mayHaveActed`: the tool failed and may still have taken effect. */
export type Result =
  | { readonly type: 'output'; readonly output: Json; readonly metadata?: Metadata }
  | {
      readonly type: 'error' | 'rejected' | 'cancelled';
      readonly text: string;
      readonly mayHaveActed?: true;
      /** On a call that a grant let run: its tool said that it did nothing. */
      readonly notPerformed?: true;
      readonly metadata?: Metadata;
    };

/** Why a `generate` ended. `interrupted`: a person has to decide. `max-turns` and `aborted`: it can be continued. */
export type FinishReason = 'stop' | 'length' | 'blocked' | 'interrupted' | 'max-turns' | 'aborted' | 'error' | 'other';

/** A call of a reply: our id and the `ref` under which the messages know it. */
export type CallIds = { readonly id: string; readonly ref: string };

type Fact =
  /** `outside`: the run is one call of a program outside, which runs its body itself. */
  | {
      readonly type: 'user-spoke';
      readonly messages: readonly Message[];
      /** Who wrote them, if known. */
      readonly by?: string;
      readonly outside?: true;
    }
  | {
      readonly type: 'model-replied';
      readonly content: readonly Part[];
      readonly calls: readonly CallIds[];
      /** The name of the model, such as `openai.chat/gpt-5`. Absent if no model was called. */
      readonly model?: string;
      readonly finishReason: FinishReason;
      readonly finishMessage?: string;
      /** Absent if the provider did not report it. */
      readonly usage?: Usage;
    }
  /**
   * A grant lets the call run without a question. `runsWith`: the input that it is bound to, if that differs. `policies`: those of
   * the request that was not made; a later request about the call has them too.
   */
  | {
      readonly type: 'call-granted';
      readonly callId: string;
      readonly grantId: string;
      readonly amount?: number;
      readonly runsWith?: Json;
      readonly policies: Policies;
      readonly requesters?: readonly string[];
    }
  /**
   * `inside`: each event of its sub-agent is recorded as it happens, with `call-went-on`.
   * `commits`: the body records `call-committed` when it is about to act, and does nothing before.
   */
  | {
      readonly type: 'call-started';
      readonly callId: string;
      readonly inside?: true;
      readonly commits?: true;
      readonly host?: HostStart;
    }
  /**
   * The gate let the call of an outside program pass, or it may start again. It waits until its caller runs it. `takesGrant`: a
   * grant covers it now; the gate looks for a grant again at the start.
   */
  | { readonly type: 'call-cleared'; readonly callId: string; readonly takesGrant?: true }
  /** The next events of the sub-agent of the call. */
  | { readonly type: 'call-went-on'; readonly callId: string; readonly inside: readonly RunEvent[] }
  | {
      readonly type: 'call-interrupted';
      readonly callId: string;
      readonly interrupt: Interrupt | SubAgentPause;
      /** The messages of a sub-agent that waits, if its events are not recorded with `call-went-on`. */
      readonly inner?: readonly Message[];
    }
  /** The sub-agent stopped in the middle. It needs no decision to continue. */
  | { readonly type: 'call-held'; readonly callId: string; readonly inner?: readonly Message[] }
  | {
      readonly type: 'decision-made';
      readonly callId: string;
      readonly interruptId: string;
      readonly decision: Decision;
      /** `metadata.resumed` of the tool message of this turn. */
      readonly resumed: Json;
    }
  | { readonly type: 'step-done'; readonly callId: string; readonly step: string; readonly output: Json }
  | { readonly type: 'call-settled'; readonly callId: string; readonly result: Result }
  /** The result of a body that came after another writer had settled or restarted its call. It settles nothing. */
  | {
      readonly type: 'call-ended-late';
      readonly callId: string;
      /** The calls whose sub-agents the call is in, the outermost first. They may be over. */
      readonly path?: readonly string[];
      readonly result: Result;
    }
  /** The body is about to do something irreversible. */
  | { readonly type: 'call-committed'; readonly callId: string }
  /** The run stopped for an error. It can be resumed from here. */
  | { readonly type: 'run-failed'; readonly error: Json }
  /** A failed run was resumed. */
  | { readonly type: 'run-went-on' }
  | { readonly type: 'run-ended'; readonly reason: FinishReason; readonly message?: string }
  | BallotFact;

/** Changes to a pending question that do not settle it. */
type BallotFact =
  /** A person voted on a question that has a policy. `edit`: from now on the request is about this input. */
  | {
      readonly type: 'vote-cast';
      readonly interruptId: string;
      readonly vote: Vote;
      readonly edit?: {
        readonly input: Json;
        readonly bound?: EditBound;
        readonly asked?: Reasked;
        /** The votes suffice for it: the decision is the next event, and nobody is asked again. */
        readonly settles?: true;
      };
    }
  /** The votes of these people count from now on, in every group of the policy at this place, or of all policies. */
  | { readonly type: 'question-escalated'; readonly interruptId: string; readonly to: Who; readonly policy?: number }
  | {
      readonly type: 'question-assigned';
      readonly interruptId: string;
      readonly to: string | null;
      readonly by: string | null;
    }
  /** The policies of a pending request were replaced. */
  | {
      readonly type: 'policy-applied';
      readonly interruptId: string;
      readonly policies: Policies;
      readonly by: string | null;
    };

/**
 * A program outside runs the body, and reports its result until then; after that the outcome is unknown. `start` is the hash of the
 * token that the program got: only with this token can it report.
 */
export type HostStart = { readonly until: number; readonly start: string };

type Recorded = { readonly v: typeof EVENT_VERSION; readonly at?: number };

/** `at` is the time of recording in milliseconds; a stateless run has none. */
export type RunEvent = Fact & Recorded;
export type BallotEvent = BallotFact & Recorded;

const TYPES: { readonly [type in Fact['type']]: true } = {
  'user-spoke': true,
  'model-replied': true,
  'call-granted': true,
  'call-started': true,
  'call-cleared': true,
  'call-went-on': true,
  'call-interrupted': true,
  'call-held': true,
  'decision-made': true,
  'step-done': true,
  'call-settled': true,
  'call-committed': true,
  'call-ended-late': true,
  'vote-cast': true,
  'question-escalated': true,
  'question-assigned': true,
  'policy-applied': true,
  'run-failed': true,
  'run-went-on': true,
  'run-ended': true,
};

const KINDS: readonly InterruptKind[] = ['question', 'interrupt', 'approval', 'unknown-outcome', 'unavailable'];
const DECISIONS: readonly Decision['type'][] = ['respond', 'restart', 'approve', 'reject', 'cancel', 'inside'];
const RESULTS: readonly Result['type'][] = ['output', 'error', 'rejected', 'cancelled'];

export const ENDINGS: readonly NonNullable<Interrupt['onExpiry']>[] = ['reject', 'cancel', 'approve'];

/** False if a later release wrote the event, or used a kind of decision, question or result that this one does not know. */
export function isKnown(event: RunEvent): boolean {
  if (event.v !== EVENT_VERSION || !Object.hasOwn(TYPES, event.type)) return false;
  if (event.type === 'decision-made') return DECISIONS.includes(event.decision.type);
  if (event.type === 'call-settled') return RESULTS.includes(event.result.type);
  if (event.type !== 'call-interrupted' || event.interrupt.kind === 'inside') return true;
  const { kind, onExpiry } = event.interrupt;
  return KINDS.includes(kind) && (onExpiry === undefined || ENDINGS.includes(onExpiry));
}

/** The tokens of one event. Those of a sub-agent count for the run that it is in. */
export function usageIn(event: RunEvent): Usage | undefined {
  if (event.type === 'model-replied') return readUsage(event.usage);
  return event.type === 'call-went-on' ? event.inside.map(usageIn).reduce(addUsage, undefined) : undefined;
}

export function event<F extends Fact>(fact: F): F & { readonly v: typeof EVENT_VERSION } {
  return { v: EVENT_VERSION, ...fact };
}
