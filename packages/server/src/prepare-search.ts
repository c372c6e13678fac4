// Has the store make what lists and searches need to be fast, beside the server if that takes long or fails at first.
import { setTimeout as delay } from 'node:timers/promises';
import { ProviderError, type Store } from 'countersign';
import type { Log } from './telemetry/log.ts';

/** How long it may take before the server begins without. */
const PATIENCE_MS = 5_000;
/** When it is tried again, after a store that was away. */
const AGAIN_MS = 30_000;

/**
 * Resolves when the server may begin. Lists work without it as well. Where transactions of others are open, such as that of a
 * backup, PostgreSQL makes no index before they end: it goes on beside the server then, until `stop`.
 */
export async function prepareSearch(store: Store, log: Log, stop: AbortSignal, againMs = AGAIN_MS): Promise<void> {
  const trying = Promise.withResolvers<void>();
  void prepared(store, log, stop, againMs, trying.resolve);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      const reason = 'It takes long. Until it is done, lists and searches look at every question.';
      log('warn', 'search-not-prepared', { reason });
      resolve();
    }, PATIENCE_MS);
  });
  await Promise.race([trying.promise, late]);
  clearTimeout(timer);
}

/** Tried again while the store may come back; `tried` is called after each time. */
async function prepared(store: Store, log: Log, stop: AbortSignal, againMs: number, tried: () => void): Promise<void> {
  for (let isTold = false; !stop.aborted; ) {
    try {
      return await store.prepareSearch();
    } catch (error) {
      if (!isTold && !stop.aborted) log('warn', 'search-not-prepared', { error });
      isTold = true;
      if (!(error instanceof ProviderError && error.retryable)) return;
    } finally {
      tried();
    }
    await delay(againMs, undefined, { signal: stop, ref: false }).catch(() => undefined);
  }
}
