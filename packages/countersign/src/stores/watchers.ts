// Who watches a store in this process. The first one starts what listens to other processes, the last one stops it.

export type Watchers = {
  /** Returns how to stop. */
  add(changed: (runId: string) => void): () => void;
  /** Tells everybody, soon but not within the call. */
  notify(runId: string): void;
  /** Nobody watches any more. */
  clear(): void;
};

/** `listen` is called when the first one begins to watch and returns how to stop listening. */
export function createWatchers(listen: () => () => void = () => () => {}): Watchers {
  const watching = new Set<{ readonly changed: (runId: string) => void }>();
  let unlisten: (() => void) | undefined;

  function stopIfNobody(): void {
    if (watching.size > 0) return;
    unlisten?.();
    unlisten = undefined;
  }

  return {
    add(changed) {
      const watcher = { changed };
      watching.add(watcher);
      unlisten ??= listen();
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
    clear() {
      watching.clear();
      stopIfNobody();
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
