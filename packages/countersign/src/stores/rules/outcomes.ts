// The outcome of a request, derived once from its settlement.

import { isObject, type Json } from '../../core/json.ts';
import { DEADLINE } from '../../core/run/event.ts';
import type { RequestOutcome } from '../../runs/port/store.ts';

/**
 * `changes-asked`: sent back, which counts as rejected. `withdrawn`: cancelled without a decision. `granted`, `observed`: a grant or a rule
 * let the call run, or a rule only observed it, and nobody was asked.
 */
export type Outcome = {
  readonly outcome:
    | 'approved'
    | 'rejected'
    | 'changes-asked'
    | 'answered'
    | 'cancelled'
    | 'withdrawn'
    | 'granted'
    | 'observed';
  readonly edited: boolean;
  readonly expired: boolean;
};

export function outcomeOf(settlement: Json): Outcome {
  const { decision, by, channel } = isObject(settlement) ? settlement : {};
  const { type, ...options } = isObject(decision) ? decision : {};
  if (typeof type !== 'string') return { outcome: unaskedAs(settlement) ?? 'withdrawn', edited: false, expired: false };
  return {
    outcome: OUTCOMES.get(type) ?? 'cancelled',
    edited: Object.hasOwn(options, 'edit') || Object.hasOwn(options, 'replaceInput'),
    expired: by === DEADLINE && channel === null,
  };
}

const OUTCOMES: ReadonlyMap<string, Outcome['outcome']> = new Map([
  ['approve', 'approved'],
  ['restart', 'approved'],
  ['reject', 'rejected'],
  ['revise', 'changes-asked'],
  ['respond', 'answered'],
]);

/** Why the call ran and nobody was asked; undefined for a request. */
export function unaskedAs(settlement: Json | undefined): 'granted' | 'observed' | undefined {
  if (typeof settlement !== 'object' || settlement === null || 'decision' in settlement) return undefined;
  return 'granted' in settlement ? 'granted' : 'observed' in settlement ? 'observed' : undefined;
}

/** What came of the call, as the append said it; null if it did not. */
export function endedAs(outcome: Json): string | null {
  const state = isObject(outcome) ? outcome.state : undefined;
  return typeof state === 'string' ? state : null;
}

/** These decisions let nothing run; on a call in doubt they leave its outcome unknown. */
export const LETS_NOTHING_RUN: readonly Outcome['outcome'][] = ['rejected', 'changes-asked', 'cancelled', 'withdrawn'];

/** What these count as, too: in lists and in statistics. */
export const OTHER_NAMES: { readonly [name in Outcome['outcome']]?: 'rejected' | 'cancelled' } = {
  'changes-asked': 'rejected',
  withdrawn: 'cancelled',
};

/** `ended`: what `endedAs` says. */
export function hasOutcome(
  { outcome, edited, expired }: Outcome,
  { ended, kind }: { readonly ended: string | null; readonly kind: string },
  asked: RequestOutcome,
): boolean {
  if (asked === 'not-run')
    return ended === asked || (ended === null && kind !== 'doubt' && LETS_NOTHING_RUN.includes(outcome));
  if (asked === 'done' || asked === 'failed' || asked === 'unknown') return ended === asked;
  if (asked === 'edited') return edited;
  if (asked === 'expired') return expired;
  return outcome === asked || OTHER_NAMES[outcome] === asked;
}
