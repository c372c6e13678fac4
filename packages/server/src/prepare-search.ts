// Makes the store's indexes for fast lists and searches, in the background if that takes long or fails at first.
import { setTimeout as delay } from 'node:timers/promises';
import { ProviderError } from 'countersign';
import type { Store } from 'countersign/store';
import type { Log } from './telemetry/log.ts';

/** How long the server waits for it before it starts. */
const PATIENCE_MS = 5_000;
/** The pause before the next try when the store is unavailable. */
const AGAIN_MS = 30_000;

/**
 * Resolves when the server may start. Lists also work without the indexes. PostgreSQL makes no index while transactions such
 * as a backup are open: then this continues in the background until `stop`.
 */
export async function prepareSearch(store: Store, log: Log, stop: AbortSignal, againMs = AGAIN_MS): Promise<void> {
  const trying = Promise.withResolvers<void>();
  void prepared(store, log, stop, againMs, trying.resolve);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      const reason = 'Making the indexes takes long. Until then, lists and searches scan every request.';
      log('warn', 'search-not-prepared', { reason });
      resolve();
    }, PATIENCE_MS);
  });
  await Promise.race([trying.promise, late]);
  clearTimeout(timer);
}

/** Retries while the store may come back; calls `tried` after each try. */
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
