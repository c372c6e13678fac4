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
  const found: Groups = { shown: { payload }, bound: {}, wait: {}, previews: {}, answer: {} };
  for (const key in metadata) {
    const group = GROUPS.get(key);
    if (group && metadata[key] !== undefined) found[group][key] = metadata[key];
  }
  return requestOf(KINDS.find((kind) => kind === interruptKind) ?? 'interrupt', {
    id,
    shown: found.shown as Shown,
    authority: { policies, requesters } as Authority,
    bound: found.bound as Bound,
    wait: found.wait as Wait,
    previews: 'preview' in found.previews ? (found.previews as Previews) : undefined,
    answer: 'answerSchema' in found.answer ? (found.answer as Answer) : undefined,
  });
}

const NOBODY: readonly string[] = [];

type Groups = Record<'shown' | 'bound' | 'wait' | 'previews' | 'answer', Record<string, unknown>>;

/** The group of a request that each key belongs to. */
const GROUPS: ReadonlyMap<string, keyof Groups> = new Map(
  Object.entries({ shown: SHOWN, bound: BOUND, wait: WAIT, previews: PREVIEWS, answer: ANSWER }).flatMap(
    ([group, keys]) => Object.keys(keys).map((key) => [key, group as keyof Groups] as const),
  ),
);
