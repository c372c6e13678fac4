// A person, by name. Their id is in the tooltip, and beside the name where it matters who exactly it is.
import { type Names, nameIn } from 'countersign/request';
import { createContext, type ReactNode, useContext, useMemo } from 'react';
import { useNamed } from '../appearance.tsx';
import { VisibleText } from './visible-text.tsx';

const NamesContext = createContext<Names>({});

export type PeopleProps = {
  /** The names of people by their ids, added to those around. */
  readonly names: Names | undefined;
  readonly children: ReactNode;
};

/** Gives the components inside it the names of people. */
export function People({ names, children }: PeopleProps) {
  const outer = useContext(NamesContext);
  const all = useMemo(() => (names ? { ...outer, ...names } : outer), [outer, names]);
  return <NamesContext.Provider value={all}>{children}</NamesContext.Provider>;
}

/** Returns the name of a person, or their id. Untrusted: show it with `VisibleText`. */
export function useNameOf(): (id: string) => string {
  const names = useContext(NamesContext);
  return (id) => nameIn(id, names) ?? id;
}

export type PersonNameProps = {
  readonly id: string;
  /** Shows the id beside the name. */
  readonly withId?: boolean;
};

export function PersonName({ id, withId = false }: PersonNameProps) {
  const named = useNamed();
  const name = nameIn(id, useContext(NamesContext));
  if (name === undefined) return <VisibleText text={id} />;
  return (
    <span {...named('person')} title={id}>
      <VisibleText text={name} />
      {withId && (
        <>
          {' '}
          <span {...named('person-id')}>
            (<VisibleText text={id} />)
          </span>
        </>
      )}
    </span>
  );
}
