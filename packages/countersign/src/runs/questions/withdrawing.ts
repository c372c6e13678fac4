// Questions that stop to wait because the user said something else, or a call reported its result, with who or why.
import type { Run } from '../../loop/run.ts';
import { pendingCards } from './card.ts';
import type { Settling, Withdrawn } from './expiry.ts';

/** Lets it be said. What waits no more afterwards was withdrawn by it. */
export function withdrawing(run: Run, settling: Settling, said: Omit<Withdrawn, 'withdrawn'>, say: () => void): void {
  const before = pendingCards(settling.runId, run.state);
  say();
  const after = pendingCards(settling.runId, run.state);
  for (const key of before.keys()) if (!after.has(key)) settling.settle(key, { withdrawn: true, ...said });
}
