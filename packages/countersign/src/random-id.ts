// Ids that are unique across processes, and the timer that the loop waits with.
import { randomFillSync } from 'node:crypto';

/** 120 random bits: short, since ids are written often. Drawn and written in bulk, since each draw is expensive. */
const ID_BYTES = 15;
const ID_LENGTH = (ID_BYTES * 4) / 3;
const bytes = Buffer.allocUnsafe(ID_BYTES * 128);
let drawn = '';
let next = 0;

export function randomId(): string {
  if (next === drawn.length) {
    drawn = randomFillSync(bytes).toString('base64url');
    next = 0;
  }
  next += ID_LENGTH;
  return `call_${drawn.slice(next - ID_LENGTH, next)}`;
}

/** Draws the next ids anew: a simulation begins with the same ids for the same seed, and leaves none of them behind. */
export function forgetDrawnIds(): void {
  drawn = '';
  next = 0;
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
