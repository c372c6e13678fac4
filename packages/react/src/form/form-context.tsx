// What every field of a form needs to know of the form it stands in.
import type { Problem } from 'countersign/ui';
import { createContext, useContext } from 'react';
import { useNamed, useWords } from '../appearance.tsx';
import { isSame } from '../card/difference.ts';
import { ValueView } from '../text/value-view.tsx';
import { VisibleText } from '../text/visible-text.tsx';
import { type Draft, readDraft } from './draft.ts';
import type { Field } from './field.ts';

export type Form = {
  readonly id: string;
  /** The problems at exactly this path. */
  readonly problemsAt: (path: readonly string[]) => readonly Problem[];
  /** What the form began with; undefined for a new answer. */
  readonly initial?: { readonly value: unknown } | undefined;
};

export const FormContext = createContext<Form>({ id: '', problemsAt: () => [] });

/** A field with its place in the form. `id` is unique in the document. */
export type Placed<F extends Field = Field> = {
  readonly field: F;
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
  readonly path: readonly string[];
  readonly id: string;
  readonly label: string;
  readonly required: boolean;
};

export const pathKey = (path: readonly string[]): string => JSON.stringify(path);

/** The attributes that tie a control to its description and its problems. */
export function useDescribed({ field, path, id }: Pick<Placed, 'field' | 'path' | 'id'>) {
  const problems = useContext(FormContext).problemsAt(path);
  const described = [
    field.description !== undefined && `${id}-description`,
    problems.length > 0 && `${id}-problem`,
  ].filter((part) => part !== false);
  return {
    'data-path': pathKey(path),
    ...(described.length > 0 && { 'aria-describedby': described.join(' ') }),
    ...(problems.length > 0 && { 'aria-invalid': true as const }),
  };
}

/** What the schema says of a field. */
export function Description({ field, id }: Pick<Placed, 'field' | 'id'>) {
  const named = useNamed();
  if (field.description === undefined) return null;
  return (
    <p {...named('description')} id={`${id}-description`}>
      <VisibleText text={field.description} />
    </p>
  );
}

/** Shows the problems of a field beside it. */
export function Problems({ path, id }: Pick<Placed, 'path' | 'id'>) {
  const named = useNamed();
  const problems = useContext(FormContext).problemsAt(path);
  if (problems.length === 0) return null;
  return (
    <p {...named('problem')} id={`${id}-problem`}>
      <VisibleText text={problems.map(({ message }) => message).join(' ')} />
    </p>
  );
}

/** The old value of a field that was changed. */
export function Was({ field, draft, path, id }: Pick<Placed, 'field' | 'draft' | 'path' | 'id'>) {
  const named = useNamed();
  const words = useWords();
  const { initial } = useContext(FormContext);
  const before = initial && valueAt(initial.value, path);
  if (before === undefined || (typeof before === 'object' && before !== null)) return null;
  const now = readDraft(field, draft, words);
  if (now.is === 'value' && isSame(now.value, before)) return null;
  return (
    <p {...named('was')} id={`${id}-was`}>
      {words.was}{' '}
      <del>
        <ValueView value={before} />
      </del>
    </p>
  );
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let place = value;
  for (const name of path) {
    if (typeof place !== 'object' || place === null || !Object.hasOwn(place, name)) return undefined;
    place = place[name as keyof typeof place];
  }
  return place;
}
