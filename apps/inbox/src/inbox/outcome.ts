// Decisions in words and colours.
import type { Card } from '../api/wire.ts';

type Decision = NonNullable<Card['decision']>;

const OUTCOMES: Readonly<Record<Decision['type'], { readonly word: string; readonly tone: string }>> = {
  approve: { word: 'Approved', tone: 'text-approved' },
  restart: { word: 'Continued', tone: 'text-approved' },
  respond: { word: 'Answered', tone: 'text-answered' },
  reject: { word: 'Rejected', tone: 'text-rejected' },
  cancel: { word: 'Cancelled', tone: 'text-muted' },
};

const CHANGED = { word: 'Approved with changes', tone: 'text-approved' };

export function outcomeOf(decision: { readonly type: string; readonly edit?: unknown }) {
  if (decision.type === 'approve' && 'edit' in decision) return CHANGED;
  return OUTCOMES[decision.type as Decision['type']] ?? { word: 'Decided', tone: 'text-muted' };
}

/** The request expired: the engine decided it as `deadline`, without a channel. */
export const isExpired = ({ by, channel }: Pick<Decision, 'by' | 'channel'>): boolean =>
  by === 'deadline' && channel === null;
