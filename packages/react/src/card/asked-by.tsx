// Who asks, through which agent, and what the model gives as its reason.
import type { RequestCard, StoredCard } from 'countersign/ui';
import { useNamed, useWords } from '../appearance.tsx';
import { LongText } from '../text/long-text.tsx';
import { PersonName } from '../text/person-name.tsx';
import { VisibleText } from '../text/visible-text.tsx';

/** Who started the run of a request. Cards of a chat do not say it. */
export type Asked = Partial<Pick<StoredCard, 'agent' | 'startedBy'>>;

/** “Asked by Ann Lee (ann) through assistant”. */
export function AskedBy({ request: { agent, startedBy = null } }: { readonly request: Asked }) {
  const named = useNamed();
  const words = useWords();
  if (agent === undefined) return null;
  return (
    <p {...named('asked-by')}>
      {startedBy === null ? (
        words.askedBy
      ) : (
        <>
          {words.askedBy} <PersonName id={startedBy} withId /> {words.through}
        </>
      )}{' '}
      <VisibleText text={agent} />
    </p>
  );
}

/** The words of the model: nothing has checked them. */
export function Reason({ request: { agentReason } }: { readonly request: Pick<RequestCard, 'agentReason'> }) {
  const named = useNamed();
  const words = useWords();
  // A server of an older version does not send it.
  if (!agentReason) return null;
  return (
    <figure {...named('agent-reason')}>
      <figcaption {...named('agent-says')}>{words.agentSays}</figcaption>
      <blockquote>
        <LongText text={agentReason} />
      </blockquote>
    </figure>
  );
}
