// What an edit changes, field by field, in words as well as in marks.
import { useMemo, useState } from 'react';
import { useNamed, useWords } from '../appearance.tsx';
import { LongText, Rest, Shared } from '../text/long-text.tsx';
import { ValueView } from '../text/value-view.tsx';
import { type Difference, differencesOf, pathText } from './difference.ts';

export type InputDiffProps = { readonly before: unknown; readonly after: unknown; readonly className?: string };

/** Lists every field that differs: `amount changed from 950 to 900`. Readable without any style. */
export function InputDiff({ before, after, className }: InputDiffProps) {
  const named = useNamed();
  const words = useWords();
  const differences = useMemo(() => differencesOf(before, after), [before, after]);
  const [limit, setLimit] = useState(AT_ONCE);
  const left = differences.slice(limit);
  if (differences.length === 0) return <p {...named('diff', className)}>{words.noChanges}</p>;
  return (
    <ul {...named('diff', className)} aria-label={words.changes}>
      {differences.slice(0, limit).map((difference) => (
        <li key={JSON.stringify(difference.path)} {...named('difference')} data-difference={difference.is}>
          <span {...named('difference-path')}>
            <LongText text={difference.path.length > 0 ? pathText(difference.path) : words.wholeValue} />
          </span>{' '}
          <Shared among={Math.min(differences.length, AT_ONCE)}>
            <Change difference={difference} />
          </Shared>
        </li>
      ))}
      {left.length > 0 && (
        <li {...named('difference')}>
          <Rest
            left={lengthOf(left)}
            says={words.changesNotShown(left.length)}
            onMore={() => setLimit(limit + AT_ONCE)}
          />
        </li>
      )}
    </ul>
  );
}

/** How many differences are shown at first, and how many more each time. */
const AT_ONCE = 100;

const lengthOf = (differences: readonly Difference[]): number =>
  differences.reduce(
    (sum, difference) => sum + JSON.stringify({ ...difference, path: undefined, is: undefined }).length,
    0,
  );

function Change({ difference }: { readonly difference: Difference }) {
  const named = useNamed();
  const words = useWords();
  const before = 'before' in difference && (
    <del {...named('before')}>
      <ValueView value={difference.before} />
    </del>
  );
  const after = 'after' in difference && (
    <ins {...named('after')}>
      <ValueView value={difference.after} />
    </ins>
  );
  switch (difference.is) {
    case 'changed':
      return (
        <>
          {words.changedFrom} {before} {words.changedTo} {after}
        </>
      );
    case 'added':
      return (
        <>
          {words.added} {after}
        </>
      );
    case 'removed':
      return (
        <>
          {words.removed} {before}
        </>
      );
  }
}
