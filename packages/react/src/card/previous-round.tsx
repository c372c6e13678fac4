// The round before: what a person asked for, and what has changed since.
import type { RequestCard } from 'countersign/ui';
import { useNamed, useWords } from '../appearance.tsx';
import { LongText } from '../text/long-text.tsx';
import { PersonName } from '../text/person-name.tsx';
import { InputDiff } from './input-diff.tsx';

type AnyCard = RequestCard<string, any>;

/** Nothing for a first round. */
export function PreviousRound({ request: { previous, input, inputSchema } }: { readonly request: AnyCard }) {
  const named = useNamed();
  const words = useWords();
  // A server of an older version does not send it.
  if (!previous) return null;
  return (
    <section {...named('previous')} aria-label={words.changesAsked}>
      <figure {...named('agent-reason')}>
        <figcaption {...named('agent-says')}>
          {words.changesAsked}
          {previous.by !== undefined && (
            <>
              {' '}
              {words.by} <PersonName id={previous.by} />
            </>
          )}
        </figcaption>
        <blockquote>
          <LongText text={previous.comment} />
        </blockquote>
      </figure>
      <p {...named('caption')}>{words.changesSince}</p>
      <InputDiff before={previous.input} after={input} schema={inputSchema} />
    </section>
  );
}

/** “Round 2”, on a request that revises another. */
export function Round({ request: { previous } }: { readonly request: Pick<AnyCard, 'previous'> }) {
  const named = useNamed();
  const words = useWords();
  return previous ? <p {...named('round')}>{words.round(previous.round + 1)}</p> : null;
}
