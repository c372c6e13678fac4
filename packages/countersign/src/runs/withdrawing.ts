// Questions that stop to wait because the user said something else, with who said it.
import type { Run } from '../loop/run.ts';
import { pendingCards } from './card.ts';
import type { Settling, Withdrawn } from './expiry.ts';

/** Lets the user say it. What waits no more afterwards was withdrawn by it. */
export function withdrawing(run: Run, settling: Settling, said: Omit<Withdrawn, 'withdrawn'>, say: () => void): void {
  const before = pendingCards(settling.runId, run.state);
  say();
  const after = pendingCards(settling.runId, run.state);
  for (const key of before.keys()) if (!after.has(key)) settling.settle(key, { withdrawn: true, ...said });
}
