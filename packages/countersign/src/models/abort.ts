// Stopping at once: whoever ignores the signal is no longer waited for.

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
