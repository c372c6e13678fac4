// Why a decision on a stored question is refused: somebody was first, it is too late, or it was made on something else.
import { ConflictError } from '../core/errors.ts';
import type { Settlement } from './decision.ts';
import type { InterruptRecord } from './store.ts';

/** Somebody was first: who, when, and with what. */
export function alreadyDecided({ id, runId, settledAt, settlement }: InterruptRecord): ConflictError {
  const { by, decision } = (settlement ?? {}) as Partial<Settlement>;
  const what = decision ? JSON.stringify(decision) : 'withdrawn';
  const when = settledAt === null ? '' : ` at ${new Date(settledAt).toISOString()}`;
  return new ConflictError(
    'already-decided',
    { interruptId: id, runId, settlement },
    `Interrupt ${id} was decided by ${by ?? 'somebody'}${when}: ${what}. Reload the run.`,
  );
}

export const expired = (interruptId: string, expiresAt: number): ConflictError =>
  new ConflictError(
    'already-decided',
    { interruptId, expiresAt },
    `Interrupt ${interruptId} expired at ${new Date(expiresAt).toISOString()}.`,
  );

export const outdatedCard = (interruptId: string): ConflictError =>
  new ConflictError(
    'outdated-card',
    { interruptId },
    `The decision on ${interruptId} was made on another card than the one that waits. Load it again.`,
  );
