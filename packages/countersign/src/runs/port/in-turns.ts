// Long work over many items, without blocking the event loop.
import { setImmediate } from 'node:timers/promises';

const LONGEST_MS = 5;

/** Calls `step` with each item. If that takes long, other work of the process gets its turn in between. */
export async function forEachInTurns<T>(items: Iterable<T>, step: (item: T) => void): Promise<void> {
  const turn = new Turn();
  for (const item of items) {
    step(item);
    if (turn.isLong) await turn.pass();
  }
}

/** A turn of the event loop. Awaiting what is in memory does not end it. */
export class Turn {
  #since = performance.now();

  get isLong(): boolean {
    return performance.now() - this.#since >= LONGEST_MS;
  }

  /** Lets other work of the process have its turn. */
  async pass(): Promise<void> {
    await setImmediate();
    this.#since = performance.now();
  }
}
