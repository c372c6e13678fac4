// Withdraws requests that a message of the user, or the result of their call, made obsolete.
import type { Run } from '../../../loop/run.ts';
import { pendingCards } from '../card.ts';
import type { Withdrawal } from '../decision.ts';
import type { Settling } from './expiry.ts';

/** Runs `say` and records the requests that are no longer pending as withdrawn. */
export function withdrawing(
  run: Run,
  settling: Settling,
  said: Pick<Withdrawal, 'by' | 'note' | 'at'>,
  say: () => void,
): void {
  const before = pendingCards(settling.runId, run.state);
  say();
  const after = pendingCards(settling.runId, run.state);
  for (const key of before.keys()) if (!after.has(key)) settling.settle(key, { withdrawn: true, ...said });
}
