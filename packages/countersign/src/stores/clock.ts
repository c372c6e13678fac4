// The clock of the stores that have none of their own.

/** `now`, or the clock of the computer, in whole milliseconds that never go back. */
export function monotoneClock(now: () => number = Date.now): () => number {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    last = Math.max(last, Math.floor(now()));
    return last;
  };
}
