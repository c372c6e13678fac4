// A request in the metadata of its tool request: its groups side by side, as users see them in `response.messages`.

import { ANYONE, type Policies } from '../authority/policy.ts';
import type { Json } from '../json.ts';
import {
  type Answer,
  type Authority,
  type Bound,
  KINDS,
  type Previews,
  type Request,
  requestOf,
  type Shown,
  type Wait,
} from '../request/request.ts';
import type { Metadata } from './message.ts';

const SHOWN = { title: 1, labels: 1, risk: 1, reversibility: 1, notice: 1 } satisfies Keys<Omit<Shown, 'payload'>>;
const AUTHORITY = { policies: 1, requesters: 1 } satisfies Keys<Authority>;
const WAIT = { expiresAt: 1, onExpiry: 1, reminders: 1, escalate: 1 } satisfies Keys<Wait>;
const BOUND = { runsWith: 1, readAnew: 1 } satisfies Keys<Bound>;
const PREVIEWS = { preview: 1, earlierPreview: 1 } satisfies Keys<Previews>;
const ANSWER = { answerSchema: 1, onReject: 1 } satisfies Keys<Answer>;

type Keys<T> = { readonly [K in keyof Required<T>]: 1 };

/** The keys that a request has in the metadata. */
export const REQUEST_KEYS: readonly string[] = [
  'interrupt',
  'interruptKind',
  ...[SHOWN, AUTHORITY, WAIT, BOUND, PREVIEWS, ANSWER].flatMap((keys) => Object.keys(keys)),
];

export function waitingMetadata(interrupt: Request): Metadata {
  const { kind, wait } = interrupt;
  const { payload, ...shown } = interrupt.shown;
  const { policies, requesters } = interrupt.authority;
  return {
    interrupt: payload,
    // Without a kind, the tool's body asked.
    ...(kind !== 'interrupt' && { interruptKind: kind }),
    ...('bound' in interrupt && interrupt.bound),
    ...wait,
    ...shown,
    ...writtenPolicies(policies),
    ...(requesters.length > 0 && { requesters }),
    ...('previews' in interrupt && interrupt.previews),
    ...('answer' in interrupt && interrupt.answer),
  };
}

/** What else the metadata says. */
export function withoutRequest(metadata: Metadata = {}): Metadata {
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => !REQUEST_KEYS.includes(key)));
}

/** Messages need not say that anyone may decide. */
export function writtenPolicies(policies: Policies | undefined): { readonly policies?: Policies } {
  return policies?.some((policy) => Object.keys(policy).length > 0) ? { policies } : {};
}

export function requestIn(id: string, metadata: Metadata): Request {
  const { interrupt: payload, interruptKind, policies = ANYONE, requesters = [] } = metadata;
  return requestOf(KINDS.find((kind) => kind === interruptKind) ?? 'interrupt', {
    id,
    shown: { payload: payload as Json, ...picked<Omit<Shown, 'payload'>>(metadata, SHOWN) },
    authority: { policies, requesters } as Authority,
    bound: picked<Bound>(metadata, BOUND),
    wait: picked<Wait>(metadata, WAIT),
    previews: 'preview' in metadata ? picked<Previews>(metadata, PREVIEWS) : undefined,
    answer: 'answerSchema' in metadata ? picked<Answer>(metadata, ANSWER) : undefined,
  });
}

function picked<T>(metadata: Metadata, keys: object): T {
  const found: Record<string, unknown> = {};
  for (const key in keys) if (metadata[key] !== undefined) found[key] = metadata[key];
  return found as T;
}
