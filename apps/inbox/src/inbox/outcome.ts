// Decisions in words and colours.
import type { Card } from '../api/wire.ts';

type DecisionType = NonNullable<Card['decision']>['type'];

const OUTCOMES: Readonly<Record<DecisionType, { readonly word: string; readonly tone: string }>> = {
  approve: { word: 'Approved', tone: 'text-approved' },
  restart: { word: 'Continued', tone: 'text-approved' },
  respond: { word: 'Answered', tone: 'text-answered' },
  reject: { word: 'Rejected', tone: 'text-rejected' },
  cancel: { word: 'Cancelled', tone: 'text-muted' },
};

export const outcomeOf = (type: string) => OUTCOMES[type as DecisionType] ?? { word: 'Decided', tone: 'text-muted' };
