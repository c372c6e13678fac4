// A request in the metadata of its tool request: its groups side by side, as users see them in `response.messages`.

import { ANYONE, type Policies } from '../authority/policy.ts';
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

const SHOWN = {
  title: 'shown',
  agentReason: 'shown',
  labels: 'shown',
  risk: 'shown',
  reversibility: 'shown',
  hasUndo: 'shown',
  notice: 'shown',
  commentsForModel: 'shown',
  doubt: 'shown',
  previous: 'shown',
  reviews: 'shown',
  origins: 'shown',
} satisfies Keys<Omit<Shown, 'payload'>, 'shown'>;

/** The group of a request that each key belongs to; the payload and the kind are read on their own. */
const GROUPS = {
  ...SHOWN,
  ...({ policies: 'authority', requesters: 'authority' } satisfies Keys<Authority, 'authority'>),
  ...({ expiresAt: 'wait', onExpiry: 'wait', reminders: 'wait', escalate: 'wait' } satisfies Keys<Wait, 'wait'>),
  ...({ runsWith: 'bound', readAnew: 'bound' } satisfies Keys<Bound, 'bound'>),
  ...({ preview: 'previews', earlierPreview: 'previews' } satisfies Keys<Previews, 'previews'>),
  ...({ answerSchema: 'answer', onReject: 'answer' } satisfies Keys<Answer, 'answer'>),
} as const;

type Keys<T, Group extends string> = { readonly [K in keyof Required<T>]: Group };

/** The keys that a request has in the metadata. */
export const REQUEST_KEYS: readonly string[] = ['interrupt', 'interruptKind', ...Object.keys(GROUPS)];

/** Adds the request to the metadata of its tool request. */
export function waitingMetadata(request: Request, into: Record<string, unknown> = {}): Metadata {
  const { kind, shown, authority } = request;
  into.interrupt = shown.payload;
  // Without a kind, the tool's body asked.
  if (kind !== 'interrupt') into.interruptKind = kind;
  if ('bound' in request) Object.assign(into, request.bound);
  if (request.wait) Object.assign(into, request.wait);
  for (const key in SHOWN) if (key in shown) into[key] = shown[key as keyof Shown];
  if (isWritten(authority.policies)) into.policies = authority.policies;
  if (authority.requesters.length > 0) into.requesters = authority.requesters;
  if ('previews' in request) Object.assign(into, request.previews);
  if ('answer' in request) Object.assign(into, request.answer);
  return into;
}

/** What else the metadata says. */
export function withoutRequest(metadata: Metadata = {}): Metadata {
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => !REQUEST_KEYS.includes(key)));
}

/** Messages need not say that anyone may decide. */
export function isWritten(policies: Policies): boolean {
  return policies !== ANYONE && policies.some((policy) => Object.keys(policy).length > 0);
}

export function requestIn(id: string, metadata: Metadata): Request {
  const { interrupt: payload, interruptKind, policies = ANYONE, requesters = NOBODY } = metadata;
  const found: Groups = { shown: { payload }, authority: { policies, requesters } };
  for (const key in metadata) {
    if (!Object.hasOwn(GROUPS, key) || metadata[key] === undefined) continue;
    const group = GROUPS[key as keyof typeof GROUPS];
    found[group] ??= {};
    found[group][key] = metadata[key];
  }
  const { shown, authority, bound, wait, previews, answer } = found;
  return requestOf(KINDS.find((kind) => kind === interruptKind) ?? 'interrupt', {
    id,
    shown: shown as Shown,
    authority: authority as Authority,
    bound: (bound ?? {}) as Bound,
    wait: wait as Wait | undefined,
    previews: previews && 'preview' in previews ? (previews as Previews) : undefined,
    answer: answer && 'answerSchema' in answer ? (answer as Answer) : undefined,
  });
}

const NOBODY: readonly string[] = [];

type Groups = { [group in (typeof GROUPS)[keyof typeof GROUPS]]?: Record<string, unknown> };
