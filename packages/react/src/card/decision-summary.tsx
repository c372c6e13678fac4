// A recorded decision: the outcome, who decided it and when, then the reason, the note, and the changes.
import type { RequestCard } from 'countersign/ui';
import { useNamed, useWords } from '../appearance.tsx';
import { Moment } from '../text/local-text.tsx';
import { LongText } from '../text/long-text.tsx';
import { People, PersonName } from '../text/person-name.tsx';
import { ValueView } from '../text/value-view.tsx';
import { VisibleText } from '../text/visible-text.tsx';
import { InputDiff } from './input-diff.tsx';
import { cameText, decisionOutcome, OutcomeIcon, outcomeOf, outcomeText } from './outcome.tsx';

type AnyCard = RequestCard<string, any>;

/** Shows nothing while nothing is decided. */
export function DecisionSummary({ request }: { readonly request: AnyCard }) {
  const named = useNamed();
  const { decision, grant, rule, observed } = request;
  if (decision === null && grant?.is !== 'used' && !rule && !observed) return null;
  return (
    <People names={request.names}>
      <div {...named('decision')} data-decision={decision?.type} data-outcome={outcomeOf(request)}>
        <OutcomeLine request={request} />
        <DecisionDetails request={request} />
      </div>
    </People>
  );
}

/** “Approved by ada, 17 Nov 2026, 19:02”, with its icon, and what came of it: “Failed: The bank refused.” */
export function OutcomeLine({ request }: { readonly request: AnyCard }) {
  const named = useNamed();
  const words = useWords();
  const { decision, grant, rule, observed } = request;
  const outcome = outcomeOf({ ...request, status: 'decided' });
  const at = grant?.is === 'used' ? grant.at : ((rule ?? observed ?? decision)?.at ?? null);
  const came = cameText(request.outcome, words);
  return (
    <p {...named('outcome')} data-outcome={outcome}>
      <OutcomeIcon outcome={outcome ?? 'withdrawn'} />
      <span>
        <span {...named('outcome-words')}>
          {outcomeText(request, words)}
          {decision !== null && decisionOutcome(request) !== 'expired' && decision.by !== null && (
            <>
              {' '}
              {words.by} <PersonName id={decision.by} />
            </>
          )}
          {grant?.is === 'used' && grant.by !== null && (
            <>
              {' '}
              {words.grantedBy} <PersonName id={grant.by} />
            </>
          )}
        </span>
        {at !== null && (
          <>
            {' '}
            <Moment at={at} />
          </>
        )}
        {came !== undefined && (
          <span {...named('came')} data-came={request.outcome?.state}>
            <VisibleText text={came} />
          </span>
        )}
      </span>
    </p>
  );
}

/** What the headline was before the edit. */
export function EarlierTitle({ request: { earlierTitle } }: { readonly request: AnyCard }) {
  const named = useNamed();
  const words = useWords();
  // A server of an earlier release does not say it.
  if (typeof earlierTitle !== 'string') return null;
  return (
    <span {...named('earlier-title')}>
      {words.earlierTitle} <VisibleText text={earlierTitle} />
    </span>
  );
}

/** The reason was for the model, the note for the team: each has its own line. */
export function DecisionDetails({ request }: { readonly request: AnyCard }) {
  const named = useNamed();
  const words = useWords();
  const { decision } = request;
  if (decision === null) return null;
  const isExpired = decisionOutcome(request) === 'expired';
  return (
    <>
      {decision.reason !== undefined && (
        <p {...named('reason')}>
          <span {...named('caption')}>{words.givenReason}:</span> <LongText text={decision.reason} />
        </p>
      )}
      {decision.comment !== undefined && (
        <p {...named('reason')}>
          <span {...named('caption')}>{words.changesAsked}:</span> <LongText text={decision.comment} />
        </p>
      )}
      {decision.note !== null && !isExpired && (
        <p {...named('note')}>
          <span {...named('caption')}>{words.note}:</span> <VisibleText text={decision.note} />
        </p>
      )}
      {'edit' in decision && <InputDiff before={request.input} after={decision.edit} schema={request.inputSchema} />}
      {'output' in decision && (
        <div {...named('output')}>
          <ValueView value={decision.output} />
        </div>
      )}
    </>
  );
}
