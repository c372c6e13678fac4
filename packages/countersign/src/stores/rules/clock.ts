// The clock of the stores that have none of their own.

/** Going back by more than this, a clock was set. */
const SET_MS = 1_000;

/**
 * `now`, or the clock of the computer, in whole milliseconds that do not go back. Where the clock itself was set back, it
 * is followed: other processes that use the same file may never have seen what it said before.
 */
export function monotoneClock(now: () => number = Date.now): () => number {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    const told = Math.floor(now());
    if (told > last || last - told > SET_MS) last = told;
    return last;
  };
}
