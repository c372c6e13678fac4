// A stop does not wait without end for a model: who goes on with the run asks it anew, and nothing is lost.

export class GivingUp {
  readonly #waiting = new Set<() => void>();

  /** Calls it once models are not waited for any more. Returns how to take that back. */
  readonly listen = (giveUp: () => void): (() => void) => {
    this.#waiting.add(giveUp);
    return () => void this.#waiting.delete(giveUp);
  };

  /** What is waited for after so long is given up, if this process is still being stopped. Returns how to take that back. */
  after(graceMs: number, isStopping: () => boolean): () => void {
    const timer = setTimeout(() => {
      if (isStopping()) for (const giveUp of this.#waiting) giveUp();
    }, graceMs);
    return () => clearTimeout(timer);
  }
}
