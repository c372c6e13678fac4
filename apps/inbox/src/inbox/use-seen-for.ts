// How long a card has been in view, so that the dashboard can tell a decision that was read from one that was not.
import { useEffect, useRef } from 'react';

/** Returns a function that says for how many milliseconds the card was open on a visible page. */
export function useSeenFor(requestId: string): () => number {
  const seen = useRef({ before: 0, since: 0 });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another card begins again.
  useEffect(() => {
    const isVisible = () => document.visibilityState === 'visible';
    seen.current = { before: 0, since: isVisible() ? performance.now() : Number.NaN };
    const change = () => {
      seen.current = isVisible()
        ? { ...seen.current, since: performance.now() }
        : { before: total(seen.current), since: Number.NaN };
    };
    document.addEventListener('visibilitychange', change);
    return () => document.removeEventListener('visibilitychange', change);
  }, [requestId]);
  return () => Math.round(total(seen.current));
}

/** `since` is not a number while the page is hidden. */
function total({ before, since }: { readonly before: number; readonly since: number }): number {
  return before + (Number.isNaN(since) ? 0 : performance.now() - since);
}
