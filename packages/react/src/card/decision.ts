// Decisions in their wire form: each names one request and carries the digest of the card the person saw.
import type { RequestCard } from 'countersign/ui';

/** A person's decision. */
export type Decision =
  | { readonly type: 'approve'; readonly edit?: unknown }
  | { readonly type: 'reject'; readonly reason?: string }
  /** Asks for changes: the call does not run. */
  | { readonly type: 'revise'; readonly comment: string }
  | { readonly type: 'respond'; readonly output: unknown }
  | { readonly type: 'restart'; readonly resumed?: unknown; readonly replaceInput?: unknown }
  | { readonly type: 'cancel'; readonly reason?: string };

/** An entry of `decisions` in the body of the POST. */
export type PostedDecision = {
  readonly requestId: string;
  readonly digest?: string;
  readonly decision: Decision;
  readonly note?: string;
};

export function posted(card: RequestCard, decision: Decision, note: string | undefined): PostedDecision {
  return {
    requestId: card.id,
    ...(card.digest !== '' && { digest: card.digest }),
    decision,
    ...(note !== undefined && note !== '' && { note }),
  };
}

/** Says why a decision cannot be sent; undefined if it can. `plain`: the server only understands yes and no. */
export function unsendable(decision: Decision, by: 'decisions' | 'plain'): string | undefined {
  const given: { readonly [field: string]: unknown } = decision;
  // JSON drops `undefined`, and the call would run unchanged.
  const lost = ['edit', 'replaceInput', 'output'].find((field) => field in given && given[field] === undefined);
  if (lost !== undefined) return `The ${lost} of the decision is undefined.`;
  if (by === 'decisions' || decision.type === 'reject' || decision.type === 'cancel') return undefined;
  return decision.type === 'approve' && !('edit' in decision)
    ? undefined
    : 'This request can only be approved or rejected unchanged.';
}
