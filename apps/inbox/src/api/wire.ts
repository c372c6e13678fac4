// What the server says: the shapes of its JSON, as far as this app reads them.
import type { ApprovalCardProps } from '@countersign/react';
import type { Usage } from 'countersign/request';

export type Card = ApprovalCardProps['interrupt'];
export type Problem = Card['problems'][number];
export type Risk = NonNullable<Card['risk']>;

/** Who should decide the request; with `until`, who reviews it until then. It locks nothing. */
export type Assignee = { readonly person: string; readonly until: number | null };

export type Interrupt = Card & {
  readonly runId: string;
  readonly agent: string;
  readonly startedBy: string | null;
  readonly assignee: Assignee | null;
  /** On a settled drill. */
  readonly drill?: true;
};

export type InterruptWithMessages = Interrupt & { readonly messages: readonly Message[] };

export type Page<Item> = { readonly items: readonly Item[]; readonly cursor: string | null };

export type Me = {
  readonly id: string;
  readonly name: string | null;
  readonly scopes: readonly ('start' | 'read' | 'decide')[];
  readonly reach: 'own' | 'all';
  readonly roles: readonly string[];
  readonly demo: boolean;
  readonly model: string;
};

export type AgentInfo = {
  readonly name: string;
  readonly description: string | null;
  /** Messages that a chat offers to begin with. */
  readonly suggestions: readonly string[];
  readonly tools: readonly {
    readonly name: string;
    readonly description: string | null;
    readonly asks: 'always' | 'sometimes' | 'never' | 'question';
  }[];
};

export type RunStatus = 'running' | 'waiting' | 'done' | 'failed' | 'cancelled';

export type RunSummary = {
  readonly id: string;
  readonly agent: string;
  /** The first words that the user said in it. */
  readonly title: string | null;
  readonly status: RunStatus;
  readonly startedBy: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly version: number;
  /** The oldest pending request, if the run waits. */
  readonly waitsFor: { readonly interruptId: string; readonly tool: string; readonly title: string | null } | null;
  /** Null if no provider reported its tokens. */
  readonly usage: Usage | null;
};

export type Run = RunSummary & {
  readonly messages: readonly Message[];
  readonly text: string;
  readonly error: { readonly code: string; readonly message: string; readonly retryable?: boolean } | null;
  readonly finishReason: string | null;
  readonly pending: readonly string[];
  readonly interrupts: readonly Interrupt[];
};

export type Part = {
  readonly text?: string;
  readonly reasoning?: string;
  readonly media?: { readonly url: string; readonly contentType?: string };
  readonly data?: unknown;
  readonly toolRequest?: { readonly name: string; readonly ref: string; readonly input: unknown };
  readonly toolResponse?: { readonly name: string; readonly ref: string; readonly output: unknown };
  readonly metadata?: { readonly [key: string]: unknown };
};

export type Message = {
  readonly role: 'system' | 'user' | 'model' | 'tool';
  readonly content: readonly Part[];
};

/** A fact of a run. What else it says depends on its type. */
export type RunEvent = { readonly seq: number; readonly at?: number; readonly type: string } & {
  readonly [key: string]: unknown;
};

export type Stats = {
  readonly waiting: number;
  readonly oldestWaitingAt: number | null;
  readonly decided: number;
  readonly medianMs: number | null;
  readonly p95Ms: number | null;
  readonly tools: readonly (Outcomes & {
    readonly tool: string;
    readonly waiting: number;
    readonly medianMs: number | null;
  })[];
  readonly days: readonly (Outcomes & { readonly day: string })[];
};

/** How requests ended, and how long they took. */
export type Figures = {
  readonly requests: number;
  readonly decided: number;
  readonly approved: number;
  readonly edited: number;
  readonly rejected: number;
  readonly answered: number;
  readonly cancelled: number;
  readonly expired: number;
  readonly medianMs: number | null;
  readonly p90Ms: number | null;
};

export type NamedFigures = Figures & { readonly name: string };

export type Insights = {
  readonly since: number;
  readonly isComplete: boolean;
  readonly total: Figures;
  readonly days: readonly (Omit<Figures, 'medianMs' | 'p90Ms'> & { readonly day: string })[];
  readonly tools: readonly NamedFigures[];
  readonly people: readonly NamedFigures[];
  readonly policies: readonly NamedFigures[];
  /** Votes in each hour of the day. */
  readonly hours: readonly number[];
  readonly load: readonly { readonly name: string; readonly hours: readonly number[] }[];
  readonly quick: readonly { readonly name: string; readonly approvals: number; readonly medianMs: number }[];
  readonly drills: {
    readonly expired: number;
    readonly people: readonly { readonly name: string; readonly caught: number; readonly missed: number }[];
  };
  readonly grants: readonly {
    readonly grant: string;
    readonly tool: string;
    readonly givenBy: string;
    readonly carried: number;
    readonly status: 'active' | 'used-up' | 'expired' | 'revoked';
  }[];
  readonly choices: {
    readonly tools: readonly string[];
    readonly people: readonly string[];
    readonly policies: readonly string[];
  };
};

export type Outcomes = {
  readonly approved: number;
  readonly rejected: number;
  readonly answered: number;
  readonly cancelled: number;
};

/** What became of one of several decisions. */
export type DecisionOutcome =
  | DecideResult
  | {
      readonly status: 'outdated' | 'conflict' | 'not-allowed' | 'invalid' | 'unknown' | 'failed';
      readonly interruptId: string;
      readonly problem: { readonly detail: string; readonly settlement?: Partial<Decided> };
    };

/** The recorded decision, or that the policy of the request asks for more votes. */
export type DecideResult = (Decided & { readonly status: 'settled' }) | Waiting;

export type Waiting = {
  readonly status: 'waiting';
  /** Another one than was decided if the vote edited the input: it is asked again. */
  readonly interruptId: string;
  readonly runId: string;
  readonly votes: readonly unknown[];
  readonly missing: NonNullable<Card['progress']>['missing'];
};

export type Decided = {
  readonly interruptId: string;
  readonly runId: string;
  readonly decision: { readonly type: NonNullable<Card['decision']>['type']; readonly edit?: unknown };
  readonly by: string | null;
  readonly at: number;
  /** It was a drill: a request that had to be rejected. Nothing ran. */
  readonly drill?: true;
};
