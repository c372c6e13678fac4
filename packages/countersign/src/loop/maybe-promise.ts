// Work that is mostly done at once: a promise is made only where something must be awaited, because each one costs.

export type MaybePromise<T> = T | Promise<T>;

/** The results in their order; a promise only if one of them is. */
export function allOf<T>(results: readonly MaybePromise<T>[]): MaybePromise<readonly T[]> {
  return results.some((result) => result instanceof Promise) ? Promise.all(results) : (results as readonly T[]);
}
