// The clock of stores without a server.

/** A clock that goes back by more than this was set. */
const SET_MS = 1_000;

/**
 * Returns `now` in whole milliseconds, without small steps back. A clock that was set back is followed: other processes
 * that use the same file may never have seen the later time.
 */
export function monotoneClock(now: () => number = Date.now): () => number {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    const told = Math.floor(now());
    if (told > last || last - told > SET_MS) last = told;
    return last;
  };
}
