// What people say about a request, the newest last.
import type { CardComment, RequestCard } from 'countersign/ui';
import { useNamed, useWords } from '../appearance.tsx';
import { Moment } from '../text/local-text.tsx';
import { LongText } from '../text/long-text.tsx';
import { PersonName } from '../text/person-name.tsx';

/** Nothing for a request without comments. */
export function Comments({ request: { progress } }: { readonly request: RequestCard<string, any> }) {
  const named = useNamed();
  const words = useWords();
  const comments = progress?.comments ?? [];
  if (comments.length === 0) return null;
  return (
    <section {...named('comments')}>
      <p {...named('comments-heading')}>
        <span {...named('caption')}>{words.comments}</span>
      </p>
      <ul {...named('comment-list')} aria-label={words.comments}>
        {comments.map((comment, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: comments stay in their order.
          <Comment key={index} comment={comment} />
        ))}
      </ul>
    </section>
  );
}

function Comment({ comment: { by, text, at } }: { readonly comment: CardComment }) {
  const named = useNamed();
  return (
    <li {...named('comment')}>
      <p {...named('comment-by')}>
        <strong>
          <PersonName id={by} />
        </strong>
        {at !== null && (
          <>
            {' '}
            <Moment at={at} />
          </>
        )}
      </p>
      <p {...named('comment-text')}>
        <LongText text={text} />
      </p>
    </li>
  );
}
