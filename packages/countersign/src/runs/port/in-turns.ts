// Long work over many items, without blocking the event loop.
import { setImmediate } from 'node:timers/promises';

const LONGEST_MS = 5;

/** Calls `step` with each item. If that takes long, other work of the process gets its turn in between. */
export async function forEachInTurns<T>(items: Iterable<T>, step: (item: T) => void): Promise<void> {
  let since = performance.now();
  for (const item of items) {
    step(item);
    if (performance.now() - since < LONGEST_MS) continue;
    await setImmediate();
    since = performance.now();
  }
}
