// Waits for a run to change, in any process.
import type { Store } from '../port/store.ts';

export type Changes = { next(): Promise<void>; stop(): void };

/** Resolves when the run may have changed. Wakes up once a second too, in case a notification was missed. */
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
