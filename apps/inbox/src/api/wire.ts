// The JSON of the server, as its client types it.
import type { ApprovalCardProps } from '@countersign/react';
import type { DecideResult, Insights, Run } from '@countersign/server/client';

export type {
  AgentInfo,
  ApiRequest,
  Decided,
  DecideResult,
  DecisionOutcome,
  Insights,
  Me,
  Page,
  Plan,
  RequestWithMessages,
  Run,
  RunEvent,
  RunSummary,
  Stats,
} from '@countersign/server/client';

export type Card = ApprovalCardProps['request'];
export type Problem = Card['problems'][number];
export type Risk = NonNullable<Card['risk']>;
export type RunStatus = Run['status'];
export type Message = Run['messages'][number];
export type Part = Message['content'][number];

/** How many requests a list has; at least so many if it is not complete. */
export type RequestCount = { readonly count: number; readonly isComplete: boolean };

/** How requests ended, and how long they took. */
export type Figures = Insights['total'];
export type NamedFigures = Insights['tools'][number];
export type Waiting = Extract<DecideResult, { readonly status: 'waiting' }>;
