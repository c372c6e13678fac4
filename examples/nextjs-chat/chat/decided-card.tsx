// A card that was decided: one line that says what, by whom and when, and opens to the whole.
import { InputDiff, ValueView, VisibleText } from '@countersign/react';
import type { CardDecision, InterruptCard } from 'countersign/ui';
import { LocalTime } from './local-time.tsx';

export type DecidedCardProps = {
  readonly card: InterruptCard;
  readonly output: unknown;
  readonly errorText: string | undefined;
};

export function DecidedCard({ card, output, errorText }: DecidedCardProps) {
  const { decision, tool, input, kind } = card;
  const hasRun = decision?.type === 'approve' || decision?.type === 'restart';
  return (
    <details className="line" data-is={decision?.type ?? 'cancel'}>
      <summary>
        <span aria-hidden="true" className="line-mark">
          {MARKS[decision?.type ?? 'cancel']}
        </span>
        <span className="line-title">
          {verbOf(decision)}
          {decision?.by !== null && decision?.by !== undefined && ` by ${decision.by === 'demo' ? 'you' : decision.by}`}
          {decision?.at !== null && decision?.at !== undefined && (
            <>
              {' · '}
              <LocalTime at={decision.at} />
            </>
          )}
        </span>
        <span className="line-aside">
          {kind === 'question' && decision?.output !== undefined ? (
            <VisibleText text={String(decision.output)} />
          ) : (
            <code>{tool}</code>
          )}
        </span>
      </summary>
      <div className="line-body">
        <ValueView value={input} />
        {decision?.edit !== undefined && (
          <>
            <p className="line-label">Changes</p>
            <InputDiff before={input} after={decision.edit} />
          </>
        )}
        {decision?.reason !== undefined && (
          <p>
            Reason: <VisibleText text={decision.reason} />
          </p>
        )}
        {hasRun && output !== undefined && (
          <>
            <p className="line-label">Result</p>
            <ValueView value={output} />
          </>
        )}
        {hasRun && errorText !== undefined && (
          <p>
            <VisibleText text={errorText} />
          </p>
        )}
      </div>
    </details>
  );
}

const MARKS = { approve: '✓', restart: '✓', respond: '✓', reject: '✕', cancel: '–' } as const;

function verbOf(decision: CardDecision | null): string {
  switch (decision?.type) {
    case 'approve':
      return decision.edit === undefined ? 'Approved' : 'Approved with changes';
    case 'restart':
      return 'Continued';
    case 'respond':
      return 'Answered';
    case 'reject':
      return 'Rejected';
    case 'cancel':
    case undefined:
      return 'Withdrawn';
  }
}
