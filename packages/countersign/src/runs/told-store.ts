// The store as this process writes to it: whoever listens is told of every append, once it is durable.
import type { Append, Store } from './store.ts';

/** Hears of an append that this process made. */
export type AppendListener = (append: Append) => void;

export class Appends {
  readonly #listeners = new Set<AppendListener>();

  /** Returns how to stop. */
  listen(listener: AppendListener): () => void {
    // The same function may listen twice, and stop once.
    const heard: AppendListener = (append) => listener(append);
    this.#listeners.add(heard);
    return () => {
      this.#listeners.delete(heard);
    };
  }

  tell(append: Append): void {
    for (const listener of this.#listeners) {
      try {
        listener(append);
      } catch {
        // What goes wrong with those who listen is no matter of the append, which is durable.
      }
    }
  }
}

/** The same store; what is appended through it is told. */
export function toldStore(store: Store, appends: Appends): Store {
  return {
    append: async (append) => {
      const appended = await store.append(append);
      appends.tell(append);
      return appended;
    },
    read: (runId, options) => store.read(runId, options),
    claim: (runId, token, leaseMs) => store.claim(runId, token, leaseMs),
    renew: (runId, token, leaseMs) => store.renew(runId, token, leaseMs),
    release: (runId, token) => store.release(runId, token),
    due: (limit) => store.due(limit),
    listRuns: (query) => store.listRuns(query),
    listInterrupts: (query) => store.listInterrupts(query),
    interrupt: (id) => store.interrupt(id),
    countRuns: () => store.countRuns(),
    stats: (query) => store.stats(query),
    prepareSearch: () => store.prepareSearch(),
    get notes() {
      return store.notes;
    },
    now: () => store.now(),
    watch: (changed) => store.watch(changed),
    migrate: () => store.migrate(),
    close: () => store.close(),
  };
}
