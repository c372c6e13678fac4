// Who watches a store in this process. The first one starts what listens to other processes, the last one stops it.

export type Watchers = {
  /** Returns how to stop. */
  add(changed: (runId: string) => void): () => void;
  /** Tells everybody, soon but not within the call. */
  notify(runId: string): void;
  /** Nobody watches any more. Resolves when nothing listens any more. */
  clear(): Promise<void>;
};

/** How to stop listening; resolves when that is done. */
export type StopListening = () => Promise<void>;

/** `listen` is called when the first one begins to watch. */
export function createWatchers(listen: () => StopListening = () => async () => {}): Watchers {
  const watching = new Set<{ readonly changed: (runId: string) => void }>();
  let stopListening: StopListening | undefined;
  let stopped: Promise<void> = Promise.resolve();

  function stopIfNobody(): void {
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
        stopIfNobody();
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
      stopIfNobody();
      await stopped;
    },
  };
}

function tell(changed: (runId: string) => void, runId: string): void {
  try {
    changed(runId);
  } catch {
    // What goes wrong in a watcher is no matter of the append, which is durable, nor of the other watchers.
  }
}
