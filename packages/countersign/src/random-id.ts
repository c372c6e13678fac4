// Ids that are unique across processes, and the timer that the loop waits with.
import { randomFillSync } from 'node:crypto';

/** 120 random bits: short, since ids are written often. Drawn in bulk, since each draw is expensive. */
const ID_BYTES = 15;
const drawn = Buffer.allocUnsafe(ID_BYTES * 128);
let next = drawn.length;

export function randomId(): string {
  if (next === drawn.length) {
    randomFillSync(drawn);
    next = 0;
  }
  next += ID_BYTES;
  return `call_${drawn.toString('base64url', next - ID_BYTES, next)}`;
}

/** An abort clears the timer, so that it does not keep the process alive. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}
