// Which decisions a post makes: what it says of the questions that wait, and of nothing else.
import type { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { PendingCard } from '../../runs/questions/card.ts';
import type { Problem } from '../picture/card.ts';
import { shownQuestions, toolCallIdAt } from '../picture/ui-message.ts';
import type { Post, PostedDecision, PostedPart } from './post.ts';
import { APPROVAL } from './recipe.ts';

type Pending = ReadonlyMap<string, PendingCard>;

export type PostedDecisions = {
  readonly decisions: readonly PostedDecision[];
  /** What was posted for a question that waits and cannot be taken, by the id of the question. */
  readonly problems: ReadonlyMap<string, readonly Problem[]>;
};

/** Explicit decisions come first; of several on one question the first counts. */
export function postedDecisions(post: Post, pending: Pending): PostedDecisions {
  const decisions = new Map<string, PostedDecision>();
  for (const decision of post.decisions)
    if (!decisions.has(decision.interruptId)) decisions.set(decision.interruptId, decision);
  const problems = new Map<string, readonly Problem[]>();
  for (const part of post.parts) {
    const found = findCard(part, pending);
    if (!found || decisions.has(found.key)) continue;
    const read = readPart(part, found.card);
    if ('problem' in read) problems.set(found.key, [{ path: [], message: read.problem }]);
    else decisions.set(found.key, { interruptId: found.key, decision: read.decision });
  }
  return { decisions: [...decisions.values()], problems };
}

/**
 * Whether the browser can have shown every question about an unknown outcome: one that posts the call without it had not heard
 * of it, as where the same is posted again after the process died.
 */
export function canHaveSeen({ messages }: Post, pending: Pending): boolean {
  const posted = messages.flatMap(({ parts }) => parts.map((part) => ({ part, parts })));
  return [...pending].every(([key, card]) => {
    const id = toolCallIdOf(card);
    const calls = posted.filter(({ part }) => part.toolCallId === id);
    if (card.kind !== 'unknown-outcome' || calls.length === 0) return true;
    return calls.some(
      ({ part: { approval }, parts }) =>
        (isObject(approval) && approval.id === key) || shownQuestions(parts, id).includes(key),
    );
  });
}

function findCard(
  part: PostedPart,
  pending: Pending,
): { readonly key: string; readonly card: PendingCard } | undefined {
  if ('approvalId' in part) {
    const card = pending.get(part.approvalId);
    return card && { key: part.approvalId, card };
  }
  // What was said to an earlier question of the call, and is posted again, says nothing to this one.
  for (const [key, card] of pending)
    if (toolCallIdOf(card) === part.toolCallId && (part.shown ?? key) === key) return { key, card };
  return undefined;
}

/** The id of the tool part in the browser: the calls that lead to it, and its own. */
export function toolCallIdOf({ part }: PendingCard): string {
  const path: unknown = part.metadata?.path;
  const outer = Array.isArray(path) ? path : [];
  return toolCallIdAt(outer, part.toolRequest.ref);
}

type Read = { readonly decision: PostedDecision['decision'] } | { readonly problem: string };

function readPart(part: PostedPart, { kind, part: { metadata } }: PendingCard): Read {
  if ('approvalId' in part) {
    if (!part.approved) {
      const type = kind === 'unknown-outcome' ? 'cancel' : 'reject';
      return { decision: { type, ...(part.reason !== undefined && { reason: part.reason }) } };
    }
    if (kind === 'question') return { problem: 'This is a question: give an answer.' };
    // A plain yes to a card that asks what happened would be a guess.
    if (kind === 'unknown-outcome')
      return { problem: 'Say whether it happened, or whether it is to run again; a plain approval does not.' };
    return { decision: { type: 'approve' } };
  }
  if (part.shown === undefined && typeof metadata?.pauses === 'number' && metadata.pauses > 1)
    return { problem: 'This call has asked before: say which question it is that you answer.' };
  if ('errorText' in part) return { decision: { type: 'reject', reason: part.errorText } };
  if (kind === 'question') return { decision: { type: 'respond', output: part.output } };
  if (kind === 'unknown-outcome') return { problem: 'Say whether it happened, or whether it is to run again.' };
  if (part.output === APPROVAL.YES) return { decision: { type: 'approve' } };
  if (part.output === APPROVAL.NO) return { decision: { type: 'reject' } };
  return { problem: `This call is approved or rejected; its output comes from the tool, not from here.` };
}

/** What a refused decision is told to the card. */
export function problemsOf(error: UsageError): readonly Problem[] {
  const faults: unknown = error.details.faults;
  const found = (Array.isArray(faults) ? faults : []).flatMap((fault: unknown) => {
    if (!isObject(fault)) return [];
    if (Array.isArray(fault.issues) && fault.issues.length > 0) return fault.issues as readonly Problem[];
    return [{ path: [], message: String(fault.problem) }];
  });
  return found.length > 0 ? found : [{ path: [], message: error.message }];
}
