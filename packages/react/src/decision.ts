// Decisions as they are posted: one names one interrupt and carries the digest of what the person was shown.
import type { InterruptCard } from 'countersign/ui';

/** What a person decided. */
export type Decision =
  | { readonly type: 'approve'; readonly edit?: unknown }
  | { readonly type: 'reject'; readonly reason?: string }
  | { readonly type: 'respond'; readonly output: unknown }
  | { readonly type: 'restart'; readonly resumed?: unknown; readonly replaceInput?: unknown }
  | { readonly type: 'cancel'; readonly reason?: string };

/** An entry of `decisions` in the body of the POST. */
export type PostedDecision = {
  readonly interruptId: string;
  readonly digest?: string;
  readonly decision: Decision;
  readonly note?: string;
};

export function posted(card: InterruptCard, decision: Decision, note: string | undefined): PostedDecision {
  return {
    interruptId: card.id,
    ...(card.digest !== '' && { digest: card.digest }),
    decision,
    ...(note !== undefined && note !== '' && { note }),
  };
}
