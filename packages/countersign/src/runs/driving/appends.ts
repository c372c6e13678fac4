// Notifies listeners of appends of this process, once they are durable.
import type { Append } from '../port/store.ts';

/** Called with each durable append of this process. */
export type AppendListener = (append: Append) => void;

export class Appends {
  readonly #listeners = new Set<AppendListener>();

  /** Returns how to unsubscribe. */
  listen(listener: AppendListener): () => void {
    // The same function may be added twice and removed once.
    const heard: AppendListener = (append) => listener(append);
    this.#listeners.add(heard);
    return () => {
      this.#listeners.delete(heard);
    };
  }

  readonly tell = (append: Append): void => {
    for (const listener of this.#listeners) {
      try {
        listener(append);
      } catch {
        // An error of a listener does not affect the append, which is durable.
      }
    }
  };
}
