// Limits how long a stop waits for a model. The next worker asks the model again, and nothing is lost.

export class StopGrace {
  readonly #waiting = new Set<() => void>();

  /** Calls `giveUp` once a stop no longer waits for models. Returns how to unsubscribe. */
  readonly listen = (giveUp: () => void): (() => void) => {
    this.#waiting.add(giveUp);
    return () => void this.#waiting.delete(giveUp);
  };

  /** Gives up after `graceMs` if this process is still stopping. Returns how to cancel that. */
  after(graceMs: number, isStopping: () => boolean): () => void {
    const timer = setTimeout(() => {
      if (isStopping()) for (const giveUp of this.#waiting) giveUp();
    }, graceMs);
    return () => clearTimeout(timer);
  }
}
