// What this process appends: whoever listens is told of it, once it is durable.
import type { Append } from '../port/store.ts';

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

  readonly tell = (append: Append): void => {
    for (const listener of this.#listeners) {
      try {
        listener(append);
      } catch {
        // What goes wrong with those who listen is no matter of the append, which is durable.
      }
    }
  };
}
