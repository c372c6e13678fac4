// What whoever decides too late is told: the recorded decision, or why theirs is not taken.
import { ConflictError } from '../core/errors.ts';
import { sameJson } from '../core/json.ts';
import { type DecisionInput, decisionOf, type Settlement } from './decision.ts';
import type { InterruptRecord } from './store.ts';

/** What was decided, by whom and when: the recorded decision, also for those who came second with the same. */
export type Decided = Settlement & { readonly interruptId: string; readonly runId: string };

/** Throws if the question was settled otherwise. */
export function settledAs(
  { id: interruptId, runId, settlement, settledAt }: InterruptRecord,
  decision: DecisionInput,
): Decided {
  const recorded = settlement as unknown as Settlement | null;
  if (recorded?.decision !== undefined && sameJson(recorded.decision, decisionOf(decision)))
    return { interruptId, runId, ...recorded };
  const who = recorded?.by ?? 'somebody';
  const what = recorded?.decision ? JSON.stringify(recorded.decision) : 'withdrawn';
  const when = settledAt === null ? '' : ` at ${new Date(settledAt).toISOString()}`;
  throw new ConflictError(
    'already-decided',
    { interruptId, runId, settlement },
    `Interrupt ${interruptId} was decided by ${who}${when}: ${what}. Reload the run.`,
  );
}

export function expired(interruptId: string, expiresAt: number): ConflictError {
  return new ConflictError(
    'already-decided',
    { interruptId, expiresAt },
    `Interrupt ${interruptId} expired at ${new Date(expiresAt).toISOString()}.`,
  );
}

export function outdatedCard(interruptId: string): ConflictError {
  return new ConflictError(
    'outdated-card',
    { interruptId },
    `The decision on ${interruptId} was made on another card than the one that waits. Load it again.`,
  );
}
