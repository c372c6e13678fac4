// Shows long texts part by part: a page that lays out a million characters at once freezes.
import { createContext, type ReactNode, useCallback, useContext, useEffect, useId, useMemo, useState } from 'react';
import { useNamed, useWords } from '../appearance.tsx';
import { VisibleText } from './visible-text.tsx';

const FIRST = 20_000;
const MORE = 50_000;

const FirstContext = createContext(FIRST);

/** Of values that stand beside each other, less of each is shown at first. */
export function Shared({ among, children }: { readonly among: number; readonly children: ReactNode }) {
  const all = useContext(FirstContext);
  return (
    <FirstContext.Provider value={Math.max(Math.floor(all / Math.max(among, 1)), 100)}>
      {children}
    </FirstContext.Provider>
  );
}

/** Returns how much of a text to show, and the button that shows more. */
export function useParts(text: string): { readonly shown: string; readonly rest: ReactNode } {
  const words = useWords();
  const [limit, setLimit] = useState(useContext(FirstContext));
  const end = endOf(text, limit);
  const left = text.length - end;
  return {
    shown: end === text.length ? text : text.slice(0, end),
    rest: left > 0 && <Rest left={left} says={words.notShown(left)} onMore={() => setLimit(end + MORE)} />,
  };
}

/** Cuts after a line or word near the limit, never inside a character. Text slightly over the limit is not cut. */
function endOf(text: string, limit: number): number {
  if (text.length <= limit * 1.25) return text.length;
  const near = text.slice(0, limit);
  const ends = [near.lastIndexOf('\n') + 1, near.lastIndexOf(' ') + 1];
  const end = ends.find((end) => end > limit / 2);
  if (end !== undefined) return end;
  return /[\uDC00-\uDFFF]/.test(text[limit] ?? '') ? limit - 1 : limit;
}

type RestProps = {
  /** In characters. */
  readonly left: number;
  readonly says: string;
  readonly onMore: () => void;
};

/** Takes the place of the hidden rest. The card also warns above its buttons. */
export function Rest({ left, says, onMore }: RestProps) {
  const named = useNamed();
  const words = useWords();
  const id = useId();
  const note = useContext(UnshownContext);
  useEffect(() => {
    note(id, left);
    return () => note(id, 0);
  }, [note, id, left]);
  return (
    <span {...named('rest')} style={REST} dir="auto">
      <span id={id}>{says}</span>{' '}
      <button {...named('show-more')} type="button" aria-describedby={id} onClick={onMore}>
        {words.showMore}
      </button>
    </span>
  );
}

const REST = { display: 'block' } as const;

const UnshownContext = createContext<(id: string, left: number) => void>(() => {});

/** Counts the characters that are not shown yet inside `Unshown`. */
export function useUnshown() {
  const [left, setLeft] = useState<ReadonlyMap<string, number>>(new Map());
  const note = useCallback((id: string, count: number) => setLeft((left) => new Map(left).set(id, count)), []);
  return { unshown: useMemo(() => [...left.values()].reduce((sum, count) => sum + count, 0), [left]), note };
}

export const Unshown = UnshownContext.Provider;

export type LongTextProps = { readonly text: string; readonly className?: string };

/** As `VisibleText`; of a very long text the beginning, with how much is left, and a button that shows more of it. */
export function LongText({ text, className }: LongTextProps) {
  const { shown, rest } = useParts(text);
  return (
    <>
      <VisibleText text={shown} {...(className !== undefined && { className })} />
      {rest}
    </>
  );
}
