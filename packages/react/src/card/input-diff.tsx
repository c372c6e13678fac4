// What an edit changes, field by field, in words as well as in marks.
import { type Line, labelsTo, lineAt, lineOf } from 'countersign/request';
import { useMemo, useState } from 'react';
import { useNamed, useWords } from '../appearance.tsx';
import { LongText, Rest, Shared } from '../text/long-text.tsx';
import { LineView, ValueView } from '../text/value-view.tsx';
import { type Difference, differencesOf, pathText } from './difference.ts';

type Json = Line['value'];

export type InputDiffProps = {
  readonly before: unknown;
  readonly after: unknown;
  /** JSON Schema of both, with labels, money and dates. */
  readonly schema?: { readonly [key: string]: unknown } | null;
  readonly className?: string;
};

/** Lists every field that differs: `Amount changed from €950.00 to €900.00`. Readable without any style. */
export function InputDiff({ before, after, schema, className }: InputDiffProps) {
  const named = useNamed();
  const words = useWords();
  const differences = useMemo(() => differencesOf(before, after), [before, after]);
  const lines = useMemo(
    () => ({ before: lineOf(before as Json, schema), after: lineOf(after as Json, schema) }),
    [before, after, schema],
  );
  const [limit, setLimit] = useState(AT_ONCE);
  const left = differences.slice(limit);
  if (differences.length === 0) return <p {...named('diff', className)}>{words.noChanges}</p>;
  return (
    <ul {...named('diff', className)} aria-label={words.changes}>
      {differences.slice(0, limit).map((difference) => (
        <li key={JSON.stringify(difference.path)} {...named('difference')} data-difference={difference.is}>
          <Place difference={difference} lines={lines} />{' '}
          <Shared among={Math.min(differences.length, AT_ONCE)}>
            <Change difference={difference} lines={lines} />
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

type ChangeProps = { readonly difference: Difference; readonly lines: Lines };
type Lines = { readonly before: Line; readonly after: Line };

/** The labels on the way to a value, with its path in the tooltip; its path where no schema has labels. */
function Place({ difference: { path, is }, lines: { before, after } }: ChangeProps) {
  const named = useNamed();
  const words = useWords();
  const labels = labelsTo(is === 'added' ? after : before, path);
  const place = path.length > 0 ? pathText(path) : words.wholeValue;
  return (
    <span {...named('difference-path')} {...(labels && { 'data-labelled': '', title: place })}>
      <LongText text={labels ? labels.join(' › ') : place} />
    </span>
  );
}

function Change({ difference, lines }: ChangeProps) {
  const { path } = difference;
  const named = useNamed();
  const words = useWords();
  const before = 'before' in difference && (
    <del {...named('before')}>
      <Value line={lineAt(lines.before, path)} value={difference.before} />
    </del>
  );
  const after = 'after' in difference && (
    <ins {...named('after')}>
      <Value line={lineAt(lines.after, path)} value={difference.after} />
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

/** A currency that reads with its amount has no line of its own. */
function Value({ line, value }: { readonly line: Line | undefined; readonly value: unknown }) {
  return line ? <LineView line={line} /> : <ValueView value={value} />;
}
