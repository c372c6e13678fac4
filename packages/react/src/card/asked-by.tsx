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

/** What reviewers found: advice, which decides nothing. */
export function Reviews({ request: { reviews } }: { readonly request: Partial<Pick<RequestCard, 'reviews'>> }) {
  const named = useNamed();
  const words = useWords();
  // A server of an older version does not send them.
  if (!reviews || reviews.length === 0) return null;
  const items = reviews.flatMap(({ step, findings, failed, required, stricter }, place) => {
    const about = step === undefined ? '' : `${words.reviewStep(step)} `;
    const found = findings.map(({ level, text, field }) => ({
      isWarning: level === 'warning',
      text: `${about}${level === 'warning' ? `${words.reviewWarning} ` : ''}${text}${field === undefined ? '' : ` (${field})`}`,
    }));
    const failure = `${about}${words.reviewFailed} ${failed}. ${required ? words.reviewRequired : ''}`;
    if (failed !== undefined) found.push({ isWarning: true, text: failure });
    else if (found.length === 0) found.push({ isWarning: false, text: `${about}${words.reviewEmpty}` });
    if (stricter) found.push({ isWarning: true, text: `${about}${words.reviewStricter}` });
    return found.map((item, index) => ({ ...item, key: `${place}.${index}` }));
  });
  return (
    <figure {...named('reviews')}>
      <figcaption {...named('agent-says')}>{words.secondOpinion}</figcaption>
      <ul>
        {items.map(({ key, isWarning, text }) => (
          <li key={key} {...named(isWarning ? 'review-warning' : 'review-finding')}>
            <LongText text={text} />
          </li>
        ))}
      </ul>
    </figure>
  );
}
