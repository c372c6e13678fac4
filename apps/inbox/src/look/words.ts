// The words for how a request ended, in lists and messages.
import type { DecisionOutcome, Outcome } from '@countersign/react';

export const OUTCOME_WORDS: Readonly<Record<DecisionOutcome, string>> = {
  approved: 'Approved',
  edited: 'Approved with changes',
  continued: 'Continued',
  answered: 'Answered',
  rejected: 'Rejected',
  'changes-asked': 'Changes asked for',
  cancelled: 'Cancelled',
  expired: 'Expired',
  withdrawn: 'Cancelled',
  proposed: 'Changes proposed',
  granted: 'Allowed by a grant',
  observed: 'Ran unasked (observed)',
};

/** Who rejects an approved call that waits to start recalls it. */
export const outcomeWord = (outcome: DecisionOutcome, { kind }: { readonly kind: string }): string =>
  kind === 'recall' && outcome === 'rejected' ? 'Recalled' : OUTCOME_WORDS[outcome];

/** Said once a drill is settled: kindly, whatever was decided. */
export const drillWords = (outcome: Outcome): string =>
  outcome === 'rejected' || outcome === 'cancelled' || outcome === 'changes-asked'
    ? 'Well spotted! This was a drill, and it had to be rejected.'
    : 'This was a drill: it had to be rejected. Nothing ran, so no harm is done. Take a moment with the next one.';

/** The colour of the words. */
export const OUTCOME_TONES: Readonly<Record<Outcome, string>> = {
  approved: 'text-approved',
  edited: 'text-edited',
  continued: 'text-approved',
  answered: 'text-answered',
  rejected: 'text-rejected',
  'changes-asked': 'text-edited',
  cancelled: 'text-muted',
  expired: 'text-expired',
  withdrawn: 'text-muted',
  proposed: 'text-edited',
  granted: 'text-approved',
  observed: 'text-muted',
  running: 'text-answered',
  frozen: 'text-expired',
  failed: 'text-rejected',
  unknown: 'text-expired',
  'not-run': 'text-muted',
};
