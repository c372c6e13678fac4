// Turns a post into decisions on the pending requests of its chat.
import type { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { askedAnswer } from '../../core/request/request.ts';
import type { PendingCard } from '../../runs/requests/card.ts';
import type { Problem } from '../picture/card.ts';
import { toolCallIdAt } from '../picture/ui-message.ts';
import type { Post, PostedDecision, PostedPart } from './post.ts';
import { APPROVAL } from './recipe.ts';

type Pending = ReadonlyMap<string, PendingCard>;

export type PostedDecisions = {
  readonly decisions: readonly PostedDecision[];
  /** Why an answer to a pending request was refused, by the id of the request. */
  readonly problems: ReadonlyMap<string, readonly Problem[]>;
};

/** Explicit decisions take precedence; of several on one request the first counts. */
export function postedDecisions(post: Post, pending: Pending): PostedDecisions {
  const decisions = new Map<string, PostedDecision>();
  for (const decision of post.decisions)
    if (!decisions.has(decision.requestId)) decisions.set(decision.requestId, decision);
  const problems = new Map<string, readonly Problem[]>();
  // A call waits for one request at a time.
  const keys = new Map([...pending].map(([key, card]) => [toolCallIdOf(card), key]));
  for (const part of post.parts) {
    const key = keyOf(part, pending, keys);
    const card = key === undefined ? undefined : pending.get(key);
    if (key === undefined || !card || decisions.has(key)) continue;
    const read = readPart(part, card);
    if ('problem' in read) problems.set(key, [{ path: [], message: read.problem }]);
    else decisions.set(key, { requestId: key, decision: read.decision });
  }
  return { decisions: [...decisions.values()], problems };
}

/**
 * Whether the browser can have shown every request about an unknown outcome. It cannot if it posts the call without the
 * request, as in a post that is repeated after the process crashed.
 */
export function canHaveSeen({ messages }: Post, pending: Pending): boolean {
  const posted = new Set<unknown>();
  const shown = new Set<unknown>();
  for (const { parts } of messages)
    for (const { type, id, toolCallId, approval } of parts) {
      posted.add(toolCallId);
      if (type === 'data-request') shown.add(id);
      if (isObject(approval)) shown.add(approval.id);
    }
  for (const [key, card] of pending)
    if (card.request.kind === 'doubt' && posted.has(toolCallIdOf(card)) && !shown.has(key)) return false;
  return true;
}

/** The key of the request that a part answers. An answer to an earlier request of the call counts for none. */
function keyOf(part: PostedPart, pending: Pending, keys: ReadonlyMap<string, string>): string | undefined {
  if ('approvalId' in part) return pending.has(part.approvalId) ? part.approvalId : undefined;
  const key = keys.get(part.toolCallId);
  return part.questionId === undefined || part.questionId === key ? key : undefined;
}

function toolCallIdOf({ part }: PendingCard): string {
  const path: unknown = part.metadata?.path;
  return toolCallIdAt(Array.isArray(path) ? path : [], part.toolRequest.ref);
}

type Read = { readonly decision: PostedDecision['decision'] } | { readonly problem: string };

function readPart(part: PostedPart, { request, part: { metadata } }: PendingCard): Read {
  const { kind } = request;
  const isAnswered = kind === 'question' || askedAnswer(request) !== undefined;
  if ('approvalId' in part) {
    if (!part.approved) {
      const type = kind === 'doubt' ? 'cancel' : 'reject';
      return { decision: { type, ...(part.reason !== undefined && { reason: part.reason }) } };
    }
    if (isAnswered) return { problem: 'This is a question. Answer it.' };
    // A plain yes does not say whether the call happened.
    if (kind === 'doubt') return { problem: 'Say whether it happened or should run again.' };
    return { decision: { type: 'approve' } };
  }
  if (part.questionId === undefined && typeof metadata?.pauses === 'number' && metadata.pauses > 1)
    return { problem: 'This call asked more than once. Name the question you are answering.' };
  if ('errorText' in part) return { decision: { type: 'reject', reason: part.errorText } };
  if (isAnswered) return { decision: { type: 'respond', output: part.output } };
  if (kind === 'doubt') return { problem: 'Say whether it happened or should run again.' };
  if (part.output === APPROVAL.YES) return { decision: { type: 'approve' } };
  if (part.output === APPROVAL.NO) return { decision: { type: 'reject' } };
  return { problem: 'Approve or reject this call. Only the tool can produce its output.' };
}

/** Lists why a decision was refused, for its card. */
export function problemsOf(error: UsageError): readonly Problem[] {
  const faults: unknown = error.details.faults;
  const found = (Array.isArray(faults) ? faults : []).flatMap((fault: unknown) => {
    if (!isObject(fault)) return [];
    if (Array.isArray(fault.issues) && fault.issues.length > 0) return fault.issues as readonly Problem[];
    return [{ path: [], message: String(fault.problem) }];
  });
  return found.length > 0 ? found : [{ path: [], message: error.message }];
}
