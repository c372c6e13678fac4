// The JSON of the server, as its client types it.
import type { ApprovalCardProps } from '@countersign/react';
import type { DecideResult, Insights, Interrupt, Run } from '@countersign/server/client';

export type {
  AgentInfo,
  Decided,
  DecideResult,
  DecisionOutcome,
  Insights,
  Interrupt,
  Me,
  Page,
  Run,
  RunSummary,
  Stats,
} from '@countersign/server/client';

export type Card = ApprovalCardProps['interrupt'];
export type Problem = Card['problems'][number];
export type Risk = NonNullable<Card['risk']>;
export type RunStatus = Run['status'];
export type Message = Run['messages'][number];
export type Part = Message['content'][number];
export type InterruptWithMessages = Interrupt & { readonly messages: readonly Message[] };

/** A fact of a run. What else it says depends on its type. */
export type RunEvent = { readonly seq: number; readonly at?: number; readonly type: string } & {
  readonly [key: string]: unknown;
};

/** How requests ended, and how long they took. */
export type Figures = Insights['total'];
export type NamedFigures = Insights['tools'][number];
export type Waiting = Extract<DecideResult, { readonly status: 'waiting' }>;
