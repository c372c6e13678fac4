// The backend of a command: reads runs and decides requests, on a store or through a server.

import type { DecideResult, DecisionInput, GateResult, GrantRequest } from 'countersign';
import type {
  FreezeRequest,
  GrantListOptions,
  MadeFreeze,
  Page,
  PlanProgress,
  RequestListOptions,
  RunListOptions,
  StoredEvent,
  Undoing,
} from 'countersign/store';
import type { RequestFilters } from '../../api/request-list.ts';
import type { Absent, GateAsk, GateReport, GateStart, InsightFilters } from '../../client/client.ts';
import type { Absence } from '../../schemas/absence.ts';
import type { DecideItem, DecisionOutcome } from '../../schemas/decisions.ts';
import type { Freeze } from '../../schemas/freeze.ts';
import type { GateGranted } from '../../schemas/gate.ts';
import type { Grant, GrantInDetail } from '../../schemas/grant.ts';
import type { Insights } from '../../schemas/insights.ts';
import type { ChannelStatus, DeadLetter } from '../../schemas/notices.ts';
import type { ApiRequest } from '../../schemas/request.ts';
import type { Run, RunSummary } from '../../schemas/run.ts';

export type Card = ApiRequest;

export type RunDetail = Omit<Run, 'title' | 'waitsFor' | 'requests'>;

/** An event of a run; `seq` starts at 1. */
export type SequencedEvent = StoredEvent & { readonly seq: number };

export type CardQuery = Pick<
  RequestListOptions,
  'settled' | 'agent' | 'tool' | 'runId' | 'search' | 'order' | 'cursor' | 'limit'
> &
  Pick<RequestFilters, 'for' | 'decidedBy'>;

export type RunsQuery = Pick<RunListOptions, 'status' | 'agent' | 'startedBy' | 'cursor' | 'limit'>;

export type DecideOptions = { readonly digest?: string; readonly note?: string; readonly grant?: GrantRequest };

/** A call of a program outside. On a store it has no page. */
export type GateCall = GateResult & { readonly url?: string };

/** The channel of the decisions that a command makes. */
export type DecidesAs = 'cli' | 'mcp';

type OnConnection = (isConnected: boolean) => void;

export interface Backend {
  /** The address, as people read it. */
  readonly where: string;
  /** The person at this terminal, if known. */
  readonly person: string | undefined;
  runs(query: RunsQuery): Promise<Page<RunSummary>>;
  run(runId: string): Promise<RunDetail>;
  /** Returns the events recorded so far. */
  events(runId: string): Promise<readonly SequencedEvent[]>;
  /** Yields events as they happen until the run ends. Reconnects, and reports the connection to `onConnection`. */
  follow(runId: string, signal: AbortSignal, onConnection?: OnConnection): AsyncIterable<SequencedEvent>;
  /** The evidence of a run as the text of a file, byte for byte. */
  evidence(runId: string): Promise<string>;
  cards(query: CardQuery): Promise<Page<Card>>;
  card(requestId: string): Promise<Card>;
  decide(requestId: string, decision: DecisionInput, options?: DecideOptions): Promise<DecideResult>;
  /** Decides each for itself, with its own digest; `onProgress` gets the number of those that are done. */
  decideMany(
    items: readonly DecideItem[],
    options: { readonly note?: string; readonly onProgress?: (done: number) => void },
  ): Promise<readonly DecisionOutcome[]>;
  /** Assigns the request to this person for five minutes, or renews that. Locks nothing. Rejects with `claimed`. */
  take(requestId: string): Promise<void>;
  /** Ends that. Rejects with `claimed` if another person took it. */
  release(requestId: string): Promise<void>;
  grants(query: GrantListOptions): Promise<Page<Omit<Grant, 'mayRevoke'>>>;
  grant(grantId: string): Promise<Omit<GrantInDetail, 'mayRevoke'>>;
  /** The steps of a plan, with what came of each; undefined or no steps if the request is not a plan. */
  plan(requestId: string): Promise<PlanProgress | undefined>;
  revokeGrant(grantId: string, reason: string | undefined): Promise<Omit<Grant, 'mayRevoke'>>;
  readonly freezes: {
    list(lifted: boolean): Promise<readonly Omit<Freeze, 'mayLift'>[]>;
    freeze(freeze: FreezeRequest): Promise<Omit<Freeze, 'mayLift'> & Pick<MadeFreeze, 'running'>>;
    lift(freezeId: string, note: string | undefined): Promise<Omit<Freeze, 'mayLift'>>;
  };
  /** Assigns the request to a person; null removes the assignment. */
  assign(requestId: string, to: string | null): Promise<void>;
  comment(requestId: string, text: string): Promise<void>;
  /** Recalls an approved call that waits to start. */
  recall(requestId: string, reason: string | undefined): Promise<DecideResult>;
  /** Asks for the undo of a call, or of the calls of a run. */
  undo(id: string): Promise<Undoing>;
  /** The absences of people. `person` is the caller unless given. */
  readonly absences: {
    list(): Promise<readonly Absence[]>;
    /** Null if it was ended at the same moment. */
    set(absent: Absent): Promise<Absence | null>;
    end(person?: string): Promise<void>;
  };
  /** Channels and their deliveries. */
  readonly notices: {
    channels(): Promise<readonly ChannelStatus[]>;
    dead(query: {
      readonly channel?: string;
      readonly cursor?: string;
      readonly limit?: number;
    }): Promise<Page<DeadLetter>>;
    retry(letter: Pick<DeadLetter, 'channel' | 'id'>): Promise<boolean>;
  };
  /** Calls of programs outside. `start` resolves with the call if the start is not granted. */
  readonly gate: {
    ask(call: GateAsk): Promise<GateCall>;
    get(runId: string, options: { readonly wait: number }): Promise<GateCall>;
    start(runId: string, start: GateStart): Promise<GateGranted | GateCall>;
    finish(runId: string, report: GateReport): Promise<GateCall>;
  };
  /** How people decide. */
  insights(filters: InsightFilters): Promise<Insights>;
  /** Calls `onChange` soon after something may have changed. Returns a function that stops it. */
  watch(onChange: () => void, onConnection?: OnConnection): () => void;
  close(): Promise<void>;
}
