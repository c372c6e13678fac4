// Notifies listeners of appends of this process, once they are durable.
import type { Append, NewRun } from '../port/store.ts';

/** Called with each durable append of this process, and the run that it belongs to. */
export type AppendListener = (append: Append, run: NewRun) => void;

export class Appends {
  readonly #listeners = new Set<AppendListener>();

  /** Returns how to unsubscribe. */
  listen(listener: AppendListener): () => void {
    // The same function may be added twice and removed once.
    const heard: AppendListener = (append, run) => listener(append, run);
    this.#listeners.add(heard);
    return () => {
      this.#listeners.delete(heard);
    };
  }

  readonly tell: AppendListener = (append, run) => {
    for (const listener of this.#listeners) {
      try {
        listener(append, run);
      } catch {
        // An error of a listener does not affect the append, which is durable.
      }
    }
  };
}
