// No pointer for a moment after cards have moved: the second click of a double click was meant for the card that is gone.
import { type CSSProperties, useEffect, useState } from 'react';

/** As long as two clicks are a double click. */
const REST_MS = 500;

const RESTING: CSSProperties = { pointerEvents: 'none' };

/** The style of what holds the cards. Keys work on: they go to the button that has the focus, wherever it stands. */
export function usePointerRest(ids: readonly string[]): CSSProperties | undefined {
  const key = ids.join('\n');
  const [seen, setSeen] = useState(key);
  const [moves, setMoves] = useState(0);
  if (seen !== key) {
    setSeen(key);
    // The first card moves no other. One that comes just after another went stands where that one stood.
    if (seen !== '' || moves > 0) setMoves(moves + 1);
  }
  useEffect(() => {
    if (moves === 0) return;
    const timer = setTimeout(() => setMoves(0), REST_MS);
    return () => clearTimeout(timer);
  }, [moves]);
  return moves > 0 ? RESTING : undefined;
}
