// What an edit changes, field by field, in words as well as in marks.
import { useMemo } from 'react';
import { useNamed, useWords } from './appearance.tsx';
import { type Difference, differencesOf, pathText } from './difference.ts';
import { ValueView } from './value-view.tsx';
import { VisibleText } from './visible-text.tsx';

export type InputDiffProps = { readonly before: unknown; readonly after: unknown; readonly className?: string };

/** Lists every field that differs: `amount changed from 950 to 900`. Readable without any style. */
export function InputDiff({ before, after, className }: InputDiffProps) {
  const named = useNamed();
  const words = useWords();
  const differences = useMemo(() => differencesOf(before, after), [before, after]);
  if (differences.length === 0) return <p {...named('diff', className)}>{words.noChanges}</p>;
  return (
    <ul {...named('diff', className)} aria-label={words.changes}>
      {differences.map((difference) => (
        <li key={JSON.stringify(difference.path)} {...named('difference')} data-difference={difference.is}>
          <span {...named('difference-path')}>
            <VisibleText text={difference.path.length > 0 ? pathText(difference.path) : words.wholeValue} />
          </span>{' '}
          <Change difference={difference} />
        </li>
      ))}
    </ul>
  );
}

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
