// The request: what a call asks people. One shape, a union by kind; messages, cards and views are made from it.

import type { Policies, Who } from '../authority/policy.ts';
import { defined, type Json, type JsonObject } from '../json.ts';
import type { Origins } from '../origin/origin.ts';
import type { PreviewFile } from './file.ts';

/** A request to people. Times are in milliseconds. */
export type Request =
  /** The call itself is the request. Nothing runs. */
  | (Asked & { readonly kind: 'question'; readonly wait?: Wait })
  /** The tool's body asks. */
  | (Asked & Runs & { readonly kind: 'interrupt'; readonly wait?: Wait; readonly answer?: Answer })
  /** The gate asks before the body. `recall`: the call is approved, and waits until its deadline lets it start or a person recalls it. */
  | (Asked & Runs & { readonly kind: 'approval' | 'recall'; readonly wait?: Wait; readonly previews?: Previews })
  /**
   * `doubt`: the body was started and its outcome is unknown. `unavailable`: a person approved the call, but its tool is
   * missing or no longer takes its input. No deadline can decide either: only a person knows.
   */
  | (Asked &
      Runs & {
        readonly kind: 'doubt' | 'unavailable';
        readonly wait?: WaitForPerson;
        readonly previews?: Previews;
      });

export type RequestKind = Request['kind'];

export const KINDS: readonly RequestKind[] = ['question', 'interrupt', 'approval', 'doubt', 'unavailable', 'recall'];

/** What every request has. */
type Asked = {
  /** Unique; a second request of the same call has another id. */
  readonly id: string;
  readonly shown: Shown;
  readonly authority: Authority;
};

/** What a person reads, besides the tool and its input. */
export type Shown = {
  /** What the asker wants shown; `true` if nothing was given. */
  readonly payload: Json;
  /** One line for people that says what would happen. The input says exactly what. */
  readonly title?: string;
  /** Why the model makes the call, in its own words. Nothing checks it. */
  readonly agentReason?: string;
  readonly labels?: readonly string[];
  readonly risk?: 'low' | 'medium' | 'high';
  readonly reversibility?: Reversibility;
  /** Its tool has an `undo`. Without it, `reversible` is only what the tool says. */
  readonly hasUndo?: true;
  /** Mail, chat messages and the like show only the title. */
  readonly notice?: 'title-only';
  /** The model reads the comments if the request is rejected or sent back. */
  readonly commentsForModel?: true;
  /** On a doubt only. */
  readonly doubt?: Doubt;
  /** The request that this one revises, because a person asked for changes. */
  readonly previous?: Previous;
  /** What reviewers say about the call. It is advice: nothing in it weakens what the policies ask. */
  readonly reviews?: readonly Review[];
  /** Where the values of the input came from; absent where nobody uses that, and for calls from outside. */
  readonly origins?: Origins;
};

/** What a reviewer found in a call. `field`: of the input. */
export type Finding = { readonly level: 'info' | 'warning'; readonly text: string; readonly field?: string };

/** A second opinion on a call, of the reviewer of one policy. */
export type Review = {
  /** The policy that asks for it, and the step of a plan that it is about. */
  readonly policy?: string;
  readonly step?: number;
  readonly findings: readonly Finding[];
  /** It made the request stricter. */
  readonly stricter?: true;
  /** Why there is none. `required`: nobody can approve without it. */
  readonly failed?: string;
  readonly required?: true;
};

/** An earlier request about the same thing, which a person sent back. */
export type Previous = {
  readonly requestId: string;
  /** The input that its card showed. */
  readonly input: Json;
  /** What the person asked for. */
  readonly comment: string;
  readonly by?: string;
  /** Which round it was, from 1; the request that revises it is the next. */
  readonly round: number;
};

/** What the record knows of a call whose outcome is unknown, and where a person can look. */
export type Doubt = {
  /** When its body was started last, in milliseconds. */
  readonly startedAt?: number;
  /** Who let it run. */
  readonly approvedBy?: readonly string[];
  /** The grant that let it run. */
  readonly grantId?: string;
  /** What its body got as `idempotencyKey`. */
  readonly idempotencyKey: string;
  /** How its tool says to check whether it took effect: a text, or a link alone. */
  readonly howToCheck?: string;
};

/** A request that a person sent back, until a person decides the one that revises it. */
export type SentBack = {
  readonly tool: string;
  readonly previous: Previous;
  /** Who decided it. They decide about the next round if nothing else asks about it. */
  readonly policies: Policies;
  /** Everyone who asked for changes in this or an earlier round. They took part in what the next round asks. */
  readonly people: readonly string[];
  /** The request that revises it. */
  readonly askedIn?: string;
};

/** Who decides. */
export type Authority = {
  /** All of them must be satisfied. */
  readonly policies: Policies;
  /** Who took part before: the starter of the run, the author of the message that led to the call, and earlier editors. */
  readonly requesters: readonly string[];
};

/** What happens while nobody decides. */
export type Wait = {
  /** When the request expires, `onExpiry` is the decision; `reject` by default. */
  readonly expiresAt?: number;
  readonly onExpiry?: 'reject' | 'cancel' | 'approve';
  readonly reminders?: readonly number[];
  readonly escalate?: readonly Escalation[];
};

type WaitForPerson = Pick<Wait, 'reminders' | 'escalate'> & { readonly expiresAt?: never; readonly onExpiry?: never };

export const ENDINGS: readonly NonNullable<Wait['onExpiry']>[] = ['reject', 'cancel', 'approve'];

/**
 * From then on, these people may decide too. `manager`: the managers of those who could decide before. `policy`: the place of the
 * policy for which they count; every policy if absent.
 */
export type Escalation = { readonly at: number; readonly to: Who | 'manager'; readonly policy?: number };

/** The call runs if it is approved. */
type Runs = { readonly bound: Bound };

/**
 * The input that an approved call runs with. `runsWith`: the input as the tool's schema parsed it, if that differs. `readAnew`: the
 * schema rejects its own output, so the input is parsed again when the call runs. Neither: the input itself.
 */
export type Bound =
  | { readonly runsWith?: Json; readonly readAnew?: never }
  | { readonly readAnew: true; readonly runsWith?: never };

/** The edited input as the tool's schema parsed it when it was decided, if that differs. */
export type EditBound = { readonly runsWith?: Json };

/** Whether the effect of a call can be undone, as its tool says. */
export type Reversibility = 'read-only' | 'reversible' | 'irreversible';

/** What a tool says would happen; `failed` says why that could not be computed. */
export type Preview = { readonly value: Json; readonly files?: readonly PreviewFile[] } | { readonly failed: string };

export type Previews = {
  /** What would happen if the call ran, as its tool computed it when it asked. */
  readonly preview: Preview;
  /** The preview that was approved before. It has changed since, so the call asks again. */
  readonly earlierPreview?: Preview;
};

/** The body continues with the answer. */
export type Answer = {
  readonly answerSchema: JsonObject;
  /** The body also continues if a person rejects its request. */
  readonly onReject?: 'resume';
};

/** What a request shows and asks for after an edit, as the gate says of the edited input. */
export type Reasked = {
  readonly shown: Shown;
  readonly policies: Policies;
  readonly previews?: Previews;
  /** With other policies than before: their escalations. Those of the earlier policies admit nobody to these. */
  readonly escalate?: readonly Escalation[];
};

/** Everything that a request may have. */
type Parts = Asked & {
  readonly bound: Bound;
  readonly wait?: Wait | undefined;
  readonly previews?: Previews | undefined;
  readonly answer?: Answer | undefined;
};

/** A request of this kind, with those of the parts that the kind has. */
export function requestOf(
  kind: RequestKind,
  { id, shown, authority, bound, wait: waits, answer, previews }: Parts,
): Request {
  const asked = { id, shown, authority };
  const wait = waits && Object.keys(waits).length > 0 ? waits : undefined;
  // Most approvals have nothing else.
  if (kind === 'approval' && !wait && !previews) return { id, shown, authority, kind, bound };
  switch (kind) {
    case 'question':
      return { ...asked, kind, ...defined({ wait }) };
    case 'interrupt':
      return { ...asked, kind, bound, ...defined({ wait, answer }) };
    case 'approval':
    case 'recall':
      return { ...asked, kind, bound, ...defined({ wait, previews }) };
    case 'doubt':
    case 'unavailable': {
      const { reminders, escalate } = wait ?? {};
      const waits = reminders || escalate ? { wait: defined({ reminders, escalate }) } : {};
      return { ...asked, kind, bound, ...waits, ...defined({ previews }) };
    }
  }
}

/** The request as the gate asks it again about an edited input. */
export function reasked(request: Request, { shown, policies, previews }: Reasked, bound: Bound): Request {
  const authority = { ...request.authority, policies };
  return requestOf(request.kind, { ...request, shown, authority, bound, previews });
}

/** What an approval binds the call to. A request has nothing to run, and one of a caller has shown no input. */
export function boundOf(request: Request): Bound {
  return request.kind === 'question' ? { readAnew: true } : request.bound;
}

export function previewsOf(request: Request): Previews | undefined {
  return 'previews' in request ? request.previews : undefined;
}

/** The answer that a body asks for; undefined if it does not. */
export function askedAnswer(request: Request | undefined): Answer | undefined {
  return request?.kind === 'interrupt' ? request.answer : undefined;
}
