// A decided request in a conversation: one line that says how it ended, and opens to the whole.
import type { RequestCard } from 'countersign/ui';
import { useNamed, useWords } from '../appearance.tsx';
import { LongText } from '../text/long-text.tsx';
import { ValueView } from '../text/value-view.tsx';
import { VisibleText } from '../text/visible-text.tsx';
import { DecisionDetails, EarlierTitle, OutcomeLine } from './decision-summary.tsx';
import { outcomeOf } from './outcome.tsx';
import { titleOf } from './title.ts';

export type DecidedCardProps = {
  /** A request that is no longer pending. Without a decision it is shown as withdrawn. */
  readonly request: RequestCard<string, any>;
  /** What the call returned, if it ran. */
  readonly output?: unknown;
  /** Why the call failed, if it ran. */
  readonly errorText?: string | undefined;
  readonly className?: string;
};

/** Shows the outcome, the person and the time first; the request and its result are folded below. */
export function DecidedCard({ request, output, errorText, className }: DecidedCardProps) {
  const named = useNamed();
  const words = useWords();
  const { decision, input, tool, outcome } = request;
  const hasRun = outcome ? outcome.state !== 'not-run' : decision?.type === 'approve' || decision?.type === 'restart';
  return (
    <details
      {...named('decided', className)}
      data-outcome={outcomeOf({ ...request, status: 'decided' }) ?? 'withdrawn'}
    >
      <summary {...named('decided-line')}>
        <OutcomeLine request={request} />
        <span {...named('decided-title')}>
          <VisibleText text={titleOf(request)} />
          <EarlierTitle request={request} />
        </span>
      </summary>
      <div {...named('decided-body')}>
        <DecisionDetails request={request} />
        <p {...named('caption')}>
          {words.request} (<VisibleText text={tool} />)
        </p>
        <ValueView value={input} />
        {hasRun && output !== undefined && (
          <>
            <p {...named('caption')}>{words.result}</p>
            <ValueView value={output} />
          </>
        )}
        {hasRun && errorText !== undefined && (
          <p {...named('failure')}>
            <LongText text={errorText} />
          </p>
        )}
      </div>
    </details>
  );
}
