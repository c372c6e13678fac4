// Waiting for what comes by itself: for as long as a slow machine may take, no longer than it does take.
import { vi } from 'vitest';

/** Tries until it does not throw. */
export const eventually = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 30_000, interval: 10 });
