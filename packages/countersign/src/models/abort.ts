// Stops waiting for work as soon as a signal aborts.

/** Resolves with the work, or rejects with the reason as soon as the signal aborts. */
export function untilAborted<T>(work: PromiseLike<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return Promise.resolve(work);
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    const settle = () => signal.removeEventListener('abort', abort);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    const working = Promise.resolve(work);
    working.then(resolve, reject);
    working.then(settle, settle);
  });
}

/** The same, but resolves with undefined as soon as the signal aborts. */
export async function unlessAborted<T>(work: PromiseLike<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  try {
    return await untilAborted(work, signal);
  } catch (error) {
    if (signal?.aborted) return undefined;
    throw error;
  }
}

/** Resolves with the work, or with undefined after `ms`; the work itself continues. */
export async function forAtMost<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(late.resolve, ms, undefined);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
