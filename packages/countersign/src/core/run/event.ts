// Events: the facts that a run consists of.

import type { Frozen } from '../authority/freeze.ts';
import type { CallSays } from '../authority/may-run.ts';
import type { Policies, Vote, Who } from '../authority/policy.ts';
import type { RuleMatch } from '../authority/rule.ts';
import { defined, type Json, type JsonObject } from '../json.ts';
import type { Message, Metadata, Part } from '../messages/message.ts';
import type { Comment } from '../request/comment.ts';
import {
  askedAnswer,
  type EditBound,
  ENDINGS,
  type Escalation,
  KINDS,
  type Reasked,
  type Request,
  type Review,
  type SentBack,
  type Shown,
} from '../request/request.ts';
import { addUsage, readUsage, type Usage } from './usage.ts';

/** The version that new events are written in. */
export const EVENT_VERSION = 1;

/** The sub-agent of a call asks; its requests are recorded in its own conversation. */
export type SubAgentPause = { readonly id: string; readonly kind: 'inside' };

/** The decider of a request that has expired. */
export const DEADLINE = 'deadline';

/** A deadline has no channel, so a person named `deadline` does not count as one. */
export function isByDeadline({ by, channel }: Signed): boolean {
  return by === DEADLINE && channel === undefined;
}

/** The person who decided, the channel they used, and their note. */
type Signed = { readonly by?: string; readonly channel?: string; readonly note?: string; readonly metadata?: Json };

/**
 * Without `bound`, the schema parses the edit again when the call runs, because it was missing or rejects its own output.
 * A call that `returnToolRequests` handed out has `bound` even without an edit, because no card showed its input.
 */
type Edited = {
  readonly input?: Json;
  readonly bound?: EditBound;
  /** Who edited the input, if others had to agree. */
  readonly editedBy?: string;
  /** The headline of the call with the edited input. */
  readonly title?: string;
};

/** What a person decides about one request. `input` is present if they edited it. */
export type PersonDecision = Signed &
  (
    | { readonly type: 'respond'; readonly output: Json }
    | ({ readonly type: 'restart'; readonly resumed: Json } & Edited)
    | ({ readonly type: 'approve' } & Edited)
    | { readonly type: 'reject'; readonly reason?: string; readonly comments?: readonly Said[] }
    | { readonly type: 'cancel'; readonly reason?: string }
    /** It ends the request like a rejection. The comment is for the model or the program that asked. */
    | {
        readonly type: 'revise';
        readonly comment: string;
        readonly card?: SentBackCard;
        readonly comments?: readonly Said[];
      }
  );

/** A comment on the request, for the model. */
export type Said = Pick<Comment, 'by' | 'text'>;

/** The card of a request that a person sent back: its public id, the input it showed, and which round it was. */
export type SentBackCard = { readonly requestId: string; readonly input: Json; readonly round: number };

/** A decision on one request. `inside`: the decisions on those of a sub-agent, and a note of each for the history. */
export type Decision =
  | PersonDecision
  | (Signed & { readonly type: 'inside'; readonly decisions: readonly Made[]; readonly decided: Json });

/** A request that a rule would have made. `why`: what these rules say, one text each. */
export type Observed = {
  readonly policies: Policies;
  readonly why: readonly string[];
  readonly requesters?: readonly string[];
  readonly shown?: Shown;
};

/** The request that a decision is on. */
export type Address = {
  /** The refs of the calls that lead to the request, from the root inwards; empty for a call of the root. */
  readonly path: readonly string[];
  readonly ref: string;
  /** The name of the tool. */
  readonly name: string;
  /** Absent on a decision that was written by hand without it. */
  readonly requestId?: string;
  /** 1 unless given. An edit that others must agree to begins a new round. */
  readonly round?: number;
};

/** A decision, and the request that it is on. */
export type Made = {
  readonly on: Address;
  readonly decision: PersonDecision;
  /** The input that the person saw. Absent if the door has compared the card. */
  readonly shown?: Json;
};

/** What the body continues with after an answer to its request; undefined if the decision does not continue it like that. */
export function answerFor(request: Request | undefined, decision: Decision): JsonObject | undefined {
  const asked = askedAnswer(request);
  if (!asked) return undefined;
  if (decision.type === 'respond') return { answer: decision.output };
  if (decision.type !== 'reject' || asked.onReject !== 'resume') return undefined;
  return { rejected: true, ...defined({ reason: decision.reason }) };
}

/**
 * How a call ended, as the model reads it. `line`: as people read it, where that differs. `mayHaveActed`: the tool failed and may
 * still have taken effect.
 */
export type Result =
  | { readonly type: 'output'; readonly output: Json; readonly line?: string; readonly metadata?: Metadata }
  | {
      readonly type: 'error' | 'rejected' | 'cancelled';
      readonly text: string;
      readonly line?: string;
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
      /** The earlier call of the program that a person sent back, and that its call revises. */
      readonly revises?: SentBack;
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
   * A grant lets the call run without a request. `runsWith`: the input that it is bound to, if that differs. `policies`: those of
   * the request that was not made; a later request about the call has them too. `by`: the person who gave the grant. `shown`: what
   * the request would have shown.
   */
  | {
      readonly type: 'call-granted';
      readonly callId: string;
      readonly grantId: string;
      readonly amount?: number;
      readonly runsWith?: Json;
      readonly policies: Policies;
      readonly requesters?: readonly string[];
      readonly by?: string;
      readonly shown?: Shown;
    }
  /**
   * What the sources said about the call, where a rule had a say. `runsWith`: the input that they judged, if it differs. `observed`: the
   * call ran, and a rule would have asked these people.
   */
  | {
      readonly type: 'call-judged';
      readonly callId: string;
      readonly says: CallSays;
      readonly runsWith?: Json;
      readonly observed?: Observed;
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
  /** The program outside that runs the call may report until a later time. `host`: its start, with this time. */
  | { readonly type: 'call-renewed'; readonly callId: string; readonly host: HostStart }
  /**
   * The gate let the call of an outside program pass, or it may start again. It waits until its caller runs it. `takesGrant`: a
   * grant covers it now; the gate looks for a grant again at the start. `allowed`: a rule of the operator let it pass.
   */
  | { readonly type: 'call-cleared'; readonly callId: string; readonly takesGrant?: true; readonly allowed?: ByRule }
  /** A freeze covers the call, so it did not start. It waits until `run-unfrozen`, whatever has let it run. */
  | { readonly type: 'call-frozen'; readonly callId: string; readonly freeze: Frozen }
  /** A freeze of calls of the run has ended: they are looked at again, those of sub-agents too. */
  | { readonly type: 'run-unfrozen' }
  /** The next events of the sub-agent of the call. */
  | { readonly type: 'call-went-on'; readonly callId: string; readonly inside: readonly RunEvent[] }
  | {
      readonly type: 'call-interrupted';
      readonly callId: string;
      readonly request: Request | SubAgentPause;
      /** The messages of a sub-agent that waits, if its events are not recorded with `call-went-on`. */
      readonly inner?: readonly Message[];
    }
  /** The sub-agent stopped in the middle. It needs no decision to continue. */
  | { readonly type: 'call-held'; readonly callId: string; readonly inner?: readonly Message[] }
  | {
      readonly type: 'decision-made';
      readonly callId: string;
      readonly requestId: string;
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

/** The rule that let a call run, and the request that was not made: its policies, who took part, and what it would have shown. */
export type ByRule = {
  readonly rule: RuleMatch;
  readonly policies: Policies;
  readonly requesters?: readonly string[];
  readonly runsWith?: Json;
  readonly shown?: Shown;
};

/** Changes to a pending request that do not settle it. */
type BallotFact =
  /** A person voted on a request that has a policy. `edit`: from now on the request is about this input. */
  | {
      readonly type: 'vote-cast';
      readonly requestId: string;
      readonly vote: Vote;
      readonly edit?: {
        readonly input: Json;
        readonly bound?: EditBound;
        readonly asked: Reasked;
        /** The votes suffice for it: the decision is the next event, and nobody is asked again. */
        readonly settles?: true;
      };
    }
  /** The votes of these people count from now on, in every group of the policy at this place, or of all policies. */
  | { readonly type: 'request-escalated'; readonly requestId: string; readonly to: Who; readonly policy?: number }
  | {
      readonly type: 'request-assigned';
      readonly requestId: string;
      readonly to: string | null;
      readonly by: string | null;
    }
  /** A person said something about the request. `mentions`: the people whom it names. */
  | {
      readonly type: 'request-commented';
      readonly requestId: string;
      readonly by: string;
      readonly text: string;
      readonly mentions?: readonly string[];
    }
  /** A person was removed by another: their votes, and those on their behalf, count no longer. */
  | {
      readonly type: 'votes-withdrawn';
      readonly requestId: string;
      readonly of: string;
      readonly by: string | null;
      readonly reason?: string;
    }
  /** The policies of a pending request were replaced. */
  | {
      readonly type: 'policy-applied';
      readonly requestId: string;
      readonly policies: Policies;
      /** The escalations of these policies, in place of those of the policies before. */
      readonly escalate: readonly Escalation[];
      /** What the reviewers of these policies say, in place of the reviews on the card. */
      readonly reviews?: readonly Review[];
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
  'call-judged': true,
  'call-started': true,
  'call-renewed': true,
  'call-cleared': true,
  'call-frozen': true,
  'run-unfrozen': true,
  'call-went-on': true,
  'call-interrupted': true,
  'call-held': true,
  'decision-made': true,
  'step-done': true,
  'call-settled': true,
  'call-committed': true,
  'call-ended-late': true,
  'vote-cast': true,
  'request-escalated': true,
  'request-assigned': true,
  'request-commented': true,
  'votes-withdrawn': true,
  'policy-applied': true,
  'run-failed': true,
  'run-went-on': true,
  'run-ended': true,
};

const DECISIONS: readonly Decision['type'][] = [
  'respond',
  'restart',
  'approve',
  'reject',
  'cancel',
  'revise',
  'inside',
];
const RESULTS: readonly Result['type'][] = ['output', 'error', 'rejected', 'cancelled'];

/** False if a later release wrote the event, or used a kind of decision, request or result that this one does not know. */
export function isKnown(event: RunEvent): boolean {
  if (event.v !== EVENT_VERSION || !Object.hasOwn(TYPES, event.type)) return false;
  if (event.type === 'decision-made') return DECISIONS.includes(event.decision.type);
  if (event.type === 'call-settled') return RESULTS.includes(event.result.type);
  if (event.type !== 'call-interrupted' || event.request.kind === 'inside') return true;
  const { kind, wait: { onExpiry } = {} } = event.request;
  return KINDS.includes(kind) && (onExpiry === undefined || ENDINGS.includes(onExpiry));
}

/** The tokens of one event. Those of a sub-agent count for the run that it is in. */
export function usageIn(event: RunEvent): Usage | undefined {
  if (event.type === 'model-replied') return readUsage(event.usage);
  return event.type === 'call-went-on' ? event.inside.map(usageIn).reduce(addUsage, undefined) : undefined;
}

/** A rule let a call run, or only observed it, in the run or in a sub-agent. Such an event may be in one append with its call. */
export function mayJoinItsCall(event: RunEvent): boolean {
  switch (event.type) {
    case 'call-judged':
      return event.observed !== undefined;
    case 'call-cleared':
      return event.allowed !== undefined;
    case 'call-went-on':
      return event.inside.some(mayJoinItsCall);
    default:
      return false;
  }
}

/** Makes an event. Where many are made, they are written out, because a copy of each costs. */
export function event<F extends Fact>(fact: F): F & { readonly v: typeof EVENT_VERSION } {
  return { v: EVENT_VERSION, ...fact };
}
