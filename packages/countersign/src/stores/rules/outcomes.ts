// What became of a question, read from its settlement: by the memory store, and as SQL that both SQL stores understand.

import { DEADLINE } from '../../core/event.ts';
import { isObject, type Json } from '../../core/json.ts';
import type { InterruptOutcome } from '../../runs/port/store.ts';

/** How a statement looks into the settlement of an interrupt `i`. */
export type SettlementSql = {
  /** The type of the decision; null if the question was withdrawn. */
  readonly decision: string;
  /** The text under this name; null if there is none. */
  readonly settled: (name: string) => string;
  /** That there is something at this path, if only null. */
  readonly isSettledWith: (...path: readonly string[]) => string;
};

/** The type of the decision; undefined if the question was withdrawn. */
export function decisionType(settlement: Json): string | undefined {
  const type = decisionIn(settlement).type;
  return typeof type === 'string' ? type : undefined;
}

/** Of a question that is settled. */
export function hasOutcome(settlement: Json, outcome: InterruptOutcome): boolean {
  const type = decisionType(settlement);
  switch (outcome) {
    case 'approved':
      return type === 'approve' || type === 'restart';
    case 'edited':
      return EDITS.some((name) => Object.hasOwn(decisionIn(settlement), name));
    case 'rejected':
      return type === 'reject';
    case 'answered':
      return type === 'respond';
    case 'cancelled':
      return type === undefined || !NOT_CANCELLED.includes(type);
    case 'expired':
      return type !== undefined && isObject(settlement) && settlement.by === DEADLINE && settlement.channel === null;
  }
}

/** The same of the interrupt `i`, said so that no planner believes it to leave little: see `filtersOf`. */
export function outcomeSql(outcome: InterruptOutcome, { decision, settled, isSettledWith }: SettlementSql): string {
  switch (outcome) {
    case 'approved':
      return `coalesce(${decision} IN ('approve', 'restart'), false)`;
    case 'edited':
      return `coalesce(${EDITS.map((name) => isSettledWith('decision', name)).join(' OR ')}, false)`;
    case 'rejected':
      return `coalesce(${decision} = 'reject', false)`;
    case 'answered':
      return `coalesce(${decision} = 'respond', false)`;
    case 'cancelled':
      return `coalesce(${decision} NOT IN (${NOT_CANCELLED.map((type) => `'${type}'`).join(', ')}), true)`;
    case 'expired':
      return `coalesce(${decision} IS NOT NULL AND ${settled('by')} = '${DEADLINE}' AND ${settled('channel')} IS NULL, false)`;
  }
}

/** What changes the input that runs: of an approval, and of a restart. */
const EDITS = ['edit', 'replaceInput'] as const;

/** As in the statistics: whatever else there is, nobody let it run, refused it or answered it. */
const NOT_CANCELLED: readonly string[] = ['approve', 'restart', 'reject', 'respond'];

function decisionIn(settlement: Json): { readonly [key: string]: unknown } {
  const decision = isObject(settlement) ? settlement.decision : undefined;
  return isObject(decision) ? decision : {};
}
