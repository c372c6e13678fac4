// Serializes decisions per run in this process. At once, all but one would be refused by the store and retry.
import { forAtMost } from '../../models/abort.ts';

/** How long a decision waits for the one before it. The store ensures that nothing is decided twice. */
const LONGEST_MS = 1_000;

export class RunQueue {
  readonly #last = new Map<string, Promise<void>>();

  async run<T>(runId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(runId);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last.set(runId, promise);
    try {
      if (before !== undefined) await forAtMost(LONGEST_MS, before);
      return await work();
    } finally {
      resolve();
      if (this.#last.get(runId) === promise) this.#last.delete(runId);
    }
  }
}
