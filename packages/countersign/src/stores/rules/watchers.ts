// The watchers of a store in this process. The first one starts listening to other processes, the last one stops it.

export type Watchers = {
  /** Returns a function that stops watching. */
  add(changed: (runId: string) => void): () => void;
  /** Calls all watchers, soon but not within this call. */
  notify(runId: string): void;
  /** Removes all watchers. Resolves once listening has stopped. */
  clear(): Promise<void>;
};

/** Stops listening; resolves once it has stopped. */
export type StopListening = () => Promise<void>;

/** Calls `listen` for the first watcher. */
export function createWatchers(listen: () => StopListening = () => async () => {}): Watchers {
  const watching = new Set<{ readonly changed: (runId: string) => void }>();
  let stopListening: StopListening | undefined;
  let stopped: Promise<void> = Promise.resolve();

  function stopIfUnwatched(): void {
    if (watching.size > 0 || stopListening === undefined) return;
    stopped = stopListening();
    stopListening = undefined;
  }

  return {
    add(changed) {
      const watcher = { changed };
      watching.add(watcher);
      stopListening ??= listen();
      return () => {
        watching.delete(watcher);
        stopIfUnwatched();
      };
    },
    notify(runId) {
      if (watching.size === 0) return;
      queueMicrotask(() => {
        for (const watcher of watching) tell(watcher.changed, runId);
      });
    },
    async clear() {
      watching.clear();
      stopIfUnwatched();
      await stopped;
    },
  };
}

function tell(changed: (runId: string) => void, runId: string): void {
  try {
    changed(runId);
  } catch {
    // An error in a watcher must not reach the append, which is durable, or the other watchers.
  }
}
