// Shares a read that takes long between callers, less often the longer it takes.

type CacheOptions = {
  /** How long the result is shared, at least. */
  readonly shortestMs: number;
  /** The same, as a multiple of the time that reading took. */
  readonly share: number;
  readonly longestMs?: number;
  readonly clock?: () => number;
};

/** Current callers get the error of a read that fails; the next one reads again. */
export function cachedRead<Args extends readonly unknown[], T>(
  read: (...args: Args) => Promise<T>,
  { shortestMs, share, longestMs = Number.POSITIVE_INFINITY, clock = () => performance.now() }: CacheOptions,
): (...args: Args) => Promise<T> {
  let reading: Promise<T> | undefined;
  let until = 0;
  return (...args) => {
    if (reading && clock() < until) return reading;
    const startedAt = clock();
    const began = read(...args);
    reading = began;
    until = Number.POSITIVE_INFINITY;
    began.then(
      () => {
        const now = clock();
        until = now + Math.min(Math.max(share * (now - startedAt), shortestMs), longestMs);
      },
      () => {
        until = 0;
      },
    );
    return began;
  };
}

/** As `cachedRead`, for each key by itself, which `open` makes a read for. The keys that were used last are kept. */
export function cachedReads<Asked, T>(
  open: () => (asked: Asked) => Promise<T>,
  keyOf: (asked: Asked) => string,
  { most, ...options }: CacheOptions & { readonly most: number },
): (asked: Asked) => Promise<T> {
  const kept = new Map<string, (asked: Asked) => Promise<T>>();
  return (asked) => {
    const key = keyOf(asked);
    const known = kept.get(key) ?? cachedRead(open(), options);
    kept.delete(key);
    const oldest = kept.keys().next();
    if (kept.size >= most && !oldest.done) kept.delete(oldest.value);
    kept.set(key, known);
    return known(asked);
  };
}
