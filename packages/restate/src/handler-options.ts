// The options of all handlers. Restate retries whatever throws, and stops an invocation for good after a number of attempts.
import type { ObjectHandlerOpts } from '@restatedev/restate-sdk';

type Options = Omit<ObjectHandlerOpts<unknown, unknown>, 'input' | 'output'>;

/** State is read when it is asked for: an eager handler would get every event of the run with each call. */
export const SHORT = {
  enableLazyState: true,
  // A call that was given up stays interesting for as long as its caller may repeat it, which takes seconds.
  idempotencyRetention: { minutes: 10 },
  journalRetention: 0,
  // After its last attempt, an invocation is paused and blocks its run until an operator resumes it.
  retryPolicy: { initialInterval: 50, exponentiationFactor: 2, maxInterval: 1_000, maxAttempts: 1_000_000 },
  // Handlers take milliseconds. A process that is silent is frozen or cut off, and the call goes to another one.
  inactivityTimeout: 2_000,
  abortTimeout: 2_000,
} satisfies Options;

/** Writes to the database of the lists, which may be slow or away for hours. */
export const PATIENT = {
  ...SHORT,
  retryPolicy: { ...SHORT.retryPolicy, maxInterval: 5_000 },
  inactivityTimeout: 30_000,
  abortTimeout: 30_000,
} satisfies Options;
