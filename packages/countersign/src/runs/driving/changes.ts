// Waiting for something to change about a run, whichever process changes it.
import type { Store } from '../port/store.ts';

export type Changes = { next(): Promise<void>; stop(): void };

/** Tells when something about a run may have changed; a slow look from time to time finds what was missed. */
export function changesOf(store: Store, runId: string, signal?: AbortSignal): Changes {
  let wake: (() => void) | undefined;
  let changed = false;
  const notice = () => {
    changed = true;
    wake?.();
  };
  const stopWatching = store.watch((id) => {
    if (id === runId) notice();
  });
  signal?.addEventListener('abort', notice, { once: true });
  return {
    async next() {
      if (!changed)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, 1_000);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      changed = false;
    },
    stop() {
      stopWatching();
      signal?.removeEventListener('abort', notice);
    },
  };
}
