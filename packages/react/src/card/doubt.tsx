// What is known of a call whose outcome is unknown: where to look, when it started, by whose approval, with which key.
import type { RequestCard } from 'countersign/ui';
import { Fragment, type ReactNode } from 'react';
import { useNamed, useWords } from '../appearance.tsx';
import { Moment } from '../text/local-text.tsx';
import { LongText } from '../text/long-text.tsx';
import { PersonName } from '../text/person-name.tsx';
import { VisibleText } from '../text/visible-text.tsx';

/** Nothing for other requests. */
export function CardDoubt({ request: { doubt } }: { readonly request: RequestCard<string, any> }) {
  const named = useNamed();
  const words = useWords();
  if (!doubt) return null;
  const { startedAt, approvedBy, grantId, idempotencyKey, howToCheck } = doubt;
  return (
    <section {...named('doubt')}>
      <p {...named('doubt-caption')}>{words.lookFirst}</p>
      <dl {...named('doubt-facts')}>
        {howToCheck !== undefined && <Fact name={words.whereToLook}>{<WhereToLook text={howToCheck} />}</Fact>}
        {startedAt !== undefined && (
          <Fact name={words.startedAt}>
            <Moment at={startedAt} />
          </Fact>
        )}
        {approvedBy && (
          <Fact name={words.approvedBy}>
            {approvedBy.map((person, index) => (
              <Fragment key={person}>
                {index > 0 && ', '}
                <PersonName id={person} />
              </Fragment>
            ))}
          </Fact>
        )}
        {grantId !== undefined && (
          <Fact name={words.letRunByGrant}>
            <VisibleText text={grantId} />
          </Fact>
        )}
        <Fact name={words.idempotencyKey}>
          <code {...named('doubt-key')}>
            <VisibleText text={idempotencyKey} />
          </code>
        </Fact>
      </dl>
    </section>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  const named = useNamed();
  return (
    <div {...named('doubt-fact')}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The words of the tool. A link alone can be opened, and shows its whole address. */
function WhereToLook({ text }: { readonly text: string }) {
  const named = useNamed();
  if (!isLink(text)) return <LongText text={text} />;
  return (
    <a {...named('doubt-link')} href={text} target="_blank" rel="noreferrer noopener">
      <VisibleText text={text} />
    </a>
  );
}

const isLink = (text: string): boolean => /^https?:\/\/[\x21-\x7e]+$/.test(text) && URL.canParse(text);
