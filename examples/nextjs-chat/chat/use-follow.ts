// Scrolls along with the conversation, unless the user has scrolled up.
import { useEffect, useRef } from 'react';

const NEAR = 120;

/**
 * Attach `end` to an element at the end, and `waiting` to what must not be scrolled past. `length` is a number that
 * changes whenever the page may have grown.
 */
export function useFollow(length: number) {
  const end = useRef<HTMLDivElement>(null);
  const waiting = useRef<HTMLDivElement>(null);
  const isNear = useRef(true);

  useEffect(() => {
    const note = () => {
      const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
      isNear.current = scrollHeight - clientHeight - scrollTop < NEAR;
    };
    window.addEventListener('scroll', note, { passive: true });
    return () => window.removeEventListener('scroll', note);
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: that it has grown is the reason to look.
  useEffect(() => {
    if (!isNear.current) return;
    end.current?.scrollIntoView({ block: 'end' });
    // Cards that do not fit on the screen are read from the first one on.
    if ((waiting.current?.getBoundingClientRect().top ?? 0) < 0) waiting.current?.scrollIntoView({ block: 'start' });
  }, [length]);

  return { end, waiting };
}
