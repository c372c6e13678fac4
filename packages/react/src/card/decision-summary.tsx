// A recorded decision: who decided what and when, and the changes they made.
import type { InterruptCard } from 'countersign/ui';
import { useNamed, useWords } from '../appearance.tsx';
import { LongText } from '../text/long-text.tsx';
import { ValueView } from '../text/value-view.tsx';
import { VisibleText } from '../text/visible-text.tsx';
import { InputDiff } from './input-diff.tsx';

/** Shows nothing while nothing is decided. */
export function DecisionSummary({ interrupt }: { readonly interrupt: InterruptCard<string, any> }) {
  const named = useNamed();
  const words = useWords();
  const { decision } = interrupt;
  if (decision === null) return null;
  return (
    <div {...named('decision')} data-decision={decision.type}>
      <p>
        {words.decided[decision.type]}
        {decision.by !== null && (
          <>
            {' '}
            {words.by} <VisibleText text={decision.by} />
          </>
        )}
        {decision.at !== null && (
          <>
            {' '}
            {words.at} <Moment at={decision.at} />
          </>
        )}
      </p>
      {decision.reason !== undefined && (
        <p>
          {words.givenReason}: <LongText text={decision.reason} />
        </p>
      )}
      {decision.note !== null && (
        <p>
          {words.note}: <VisibleText text={decision.note} />
        </p>
      )}
      {'edit' in decision && <InputDiff before={interrupt.input} after={decision.edit} />}
      {'output' in decision && <ValueView value={decision.output} />}
    </div>
  );
}

function Moment({ at }: { readonly at: number }) {
  const moment = new Date(at);
  return (
    <time dateTime={moment.toISOString()} suppressHydrationWarning>
      {moment.toLocaleString()}
    </time>
  );
}
