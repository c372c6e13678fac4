// What became of one of several decisions, in a few words.
import { decisionOutcome, OutcomeIcon, VisibleText } from '@countersign/react';
import { TriangleAlert } from 'lucide-react';
import type { Decided, DecisionOutcome } from '../api/wire.ts';
import { decidedAs, missingText, settlementText } from '../inbox/use-decisions.ts';
import { OUTCOME_TONES, OUTCOME_WORDS } from '../look/words.ts';

type OutcomeNoteProps = {
  readonly outcome: DecisionOutcome | undefined;
  /** The card is another one now than when it was selected. */
  readonly hasChanged: boolean;
  readonly isSending: boolean;
  readonly onLookAgain: () => void;
};

export function OutcomeNote({ outcome, hasChanged, isSending, onLookAgain }: OutcomeNoteProps) {
  if (outcome?.status === 'settled') {
    const word = decisionOutcome(decidedAs(outcome.decision as Decided['decision'])) ?? 'withdrawn';
    return (
      <span className={`flex items-center gap-1.5 ${OUTCOME_TONES[word]}`}>
        <OutcomeIcon outcome={word} />
        {OUTCOME_WORDS[word]}
      </span>
    );
  }
  if (outcome?.status === 'waiting')
    return <span className="text-muted">Your vote is recorded. {missingText(outcome.missing)}</span>;
  if (outcome === undefined ? hasChanged : outcome.status === 'outdated')
    return (
      <span className="flex flex-col items-start gap-1">
        <Warning text="It has changed and is still open. Your decision was not saved." />
        <button type="button" className="button" disabled={isSending} onClick={onLookAgain}>
          Show what it is now
        </button>
      </span>
    );
  if (outcome === undefined) return null;
  const { settlement } = outcome.problem;
  return <Warning text={settlement ? settlementText(settlement) : outcome.problem.detail} />;
}

function Warning({ text }: { readonly text: string }) {
  return (
    <span className="flex items-start gap-1.5 text-warning">
      <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
      <span className="min-w-0 wrap-anywhere">
        <VisibleText text={text} />
      </span>
    </span>
  );
}
