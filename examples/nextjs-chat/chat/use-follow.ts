// Follows the conversation: who is at its end stays there, who reads further up is left alone.
import { useEffect, useRef } from 'react';

const NEAR = 120;

/** Attach the result to an element at the end. `changes` are what makes the page grow. */
export function useFollow(changes: readonly unknown[]) {
  const end = useRef<HTMLDivElement>(null);
  const isNear = useRef(true);

  useEffect(() => {
    const note = () => {
      const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
      isNear.current = scrollHeight - clientHeight - scrollTop < NEAR;
    };
    window.addEventListener('scroll', note, { passive: true });
    return () => window.removeEventListener('scroll', note);
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the changes are the reason to look.
  useEffect(() => {
    if (isNear.current) end.current?.scrollIntoView({ block: 'end' });
  }, changes);

  return end;
}
