// Who decides on one run at the same moment in one process goes in turn. If all went at once, all but one would be refused
// by the store and look at the run again, over and over.
import { forAtMost } from '../models/abort.ts';

/** Who comes behind something that hangs goes after that. The store sees to it that nothing is decided twice. */
const LONGEST_MS = 1_000;

export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  async take<T>(runId: string, work: () => Promise<T>): Promise<T> {
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
