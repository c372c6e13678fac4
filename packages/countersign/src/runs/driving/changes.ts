// Waits for changes: of a run in any process, or of anything that a worker watches.
import type { Store } from '../port/store.ts';

export type Wakeups = {
  readonly notice: () => void;
  /** Resolves at the next notice, at once if there was one since the last call, or after a while without any. */
  next(): Promise<void>;
};

/** Wakes up every `ms` too, in case a notification was missed. */
export function wakeups(ms: number): Wakeups {
  let wake: (() => void) | undefined;
  let isNoticed = false;
  const notice = () => {
    isNoticed = true;
    wake?.();
  };
  const next = async () => {
    if (!isNoticed)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    isNoticed = false;
  };
  return { notice, next };
}

export type Changes = { next(): Promise<void>; stop(): void };

/** Resolves when the run may have changed. */
export function changesOf(store: Store, runId: string, signal?: AbortSignal): Changes {
  const { notice, next } = wakeups(1_000);
  const stopWatching = store.watch((id) => {
    if (id === runId) notice();
  });
  signal?.addEventListener('abort', notice, { once: true });
  const stop = () => {
    stopWatching();
    signal?.removeEventListener('abort', notice);
  };
  return { next, stop };
}
