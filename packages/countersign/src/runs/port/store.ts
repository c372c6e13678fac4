// The store port: where runs live. Every change of a run is one `append`; everything else reads, or holds a claim.

import type { Deciders } from '../../core/authority/deciders.ts';
import type { Json } from '../../core/json.ts';
import type { RunEvent } from '../../core/run/event.ts';
import type { Notes } from './notes.ts';
import type { Page } from './page.ts';
import type { Stats, StatsQuery } from './stats.ts';

export type { Page } from './page.ts';

/** `running`: there is work to do. `waiting`: for a person or a deadline. The others have ended. */
export type RunStatus = 'running' | 'waiting' | 'done' | 'failed' | 'cancelled';

/** How many runs there are in each status. */
export type RunCounts = Readonly<Record<RunStatus, number>>;

/** The runs of one agent that have work to do now. */
export type AgentQueue = {
  readonly agent: string;
  /** How many runs no worker drives: those that `due` lists. */
  readonly due: number;
  /** Since when the longest waiting of them is due and without a worker; null if there are none. */
  readonly dueSince: number | null;
  /** How many runs a worker drives. */
  readonly claimed: number;
};

/**
 * An event, with the store's time when it was recorded, in milliseconds. `appended`: how many events were appended together
 * beginning with this one; 1 by default. The hash chain has one link for them.
 */
export type StoredEvent = RunEvent & { readonly at: number; readonly appended?: number };

/** A run without its events. */
export type RunRecord = {
  readonly id: string;
  readonly agent: string;
  readonly status: RunStatus;
  /** The number of its events. */
  readonly version: number;
  /** The end of the hash chain over its events. */
  readonly hash: string;
  readonly startedBy: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The next deadline in the run, when a worker must look at it. */
  readonly wakeAt: number | null;
  /** How the run ended, or why it stopped, and the tokens it used: JSON that the engine writes and reads. */
  readonly outcome: Json;
};

/** A run with its events, or a page of them. */
export type LoadedRun = { readonly run: RunRecord; readonly events: readonly StoredEvent[] };

/** Selects the events to read: those after the first `after`, and at most `limit` of them. */
export type ReadOptions = { readonly after?: number; readonly limit?: number };

/** How risky the tool says the call is. */
export type Risk = 'low' | 'medium' | 'high';

/**
 * The outcome of a settled request: `approved` (edited or restarted ones too), `rejected` (sent back ones too), `answered` or
 * `cancelled` (withdrawn ones too). `changes-asked` selects those that were sent back. `edited` selects the approved ones with changes, `expired` those that a deadline decided. `done`,
 * `failed`, `unknown` and `not-run` select by what came of the call: by the `state` of the outcome that an append gave. `not-run` also
 * selects requests without one, except of the kind `doubt`, that were rejected or cancelled. `granted` selects calls that a grant or a rule let
 * run, `observed` those that a rule only observed: they have none of the outcomes of a decision.
 *
 * A store reads the outcome from the settlement. `decision.type` is `approve`, `restart`, `reject`, `revise`, `respond` or `cancel`;
 * a withdrawn request has no `decision`, and neither has a call that nobody was asked about: it has `granted` or `observed`. A decision with `edit` or `replaceInput` is edited. A deadline's decision has
 * `deadline` as `by` and null as `channel`.
 */
export type RequestOutcome =
  | 'approved'
  | 'edited'
  | 'rejected'
  | 'changes-asked'
  | 'answered'
  | 'cancelled'
  | 'expired'
  | 'done'
  | 'failed'
  | 'unknown'
  | 'not-run'
  | 'granted'
  | 'observed';

/** A request to a person, pending or settled. Only its deciders, its progress and its settlement ever change. */
export type RequestRecord = {
  readonly id: string;
  readonly runId: string;
  /** Who started the run. */
  readonly startedBy: string | null;
  readonly agent: string;
  readonly tool: string;
  readonly kind: string;
  readonly risk: Risk | null;
  readonly labels: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  /** The people and roles that it names, for `RequestQuery`; null if it names nobody. */
  readonly deciders: Deciders | null;
  /**
   * What the person sees and what the digest covers: JSON that the engine writes and reads. A search covers the strings
   * and numbers in its `part.toolRequest.input` and its `part.metadata.interrupt`.
   */
  readonly card: Json;
  readonly digest: string;
  /** The votes so far, and the people with a part in it: JSON that the engine writes and reads. Null if there is nothing. */
  readonly progress: Json;
  /** Null while the request is pending. */
  readonly settledAt: number | null;
  /** Who decided what, or why the request was withdrawn: JSON. */
  readonly settlement: Json;
  /** What the record of the call last said came of it, with its `state`: JSON. Null until it says anything. */
  readonly outcome: Json;
};

/** A new request. The store knows who started its run. */
export type NewRequest = Omit<RequestRecord, 'startedBy' | 'progress' | 'settledAt' | 'settlement' | 'outcome'> & {
  /** Null by default. */
  readonly progress?: Json;
  /** Given if it is settled from the start: a call that a grant let run, which nobody was asked about. Nobody is told of it. */
  readonly settlement?: Json;
  /** What came of its call, if the same append says that. Only with `settlement`. */
  readonly outcome?: Json;
};

/** A request that changed and that a worker took, to tell people about it. */
export type UntoldRequest = {
  readonly request: RequestRecord;
  /** How often the request was opened, changed or settled. Marks from before the store counted do not count. */
  readonly news: number;
};

/** The fields of a new run. */
export type NewRun = Pick<RunRecord, 'id' | 'agent' | 'startedBy'>;

/**
 * One change of a run. All of it becomes durable, or nothing.
 *
 * Names (ids, agents, tools, kinds, labels, hashes, digests, tokens) are compared byte for byte. A name with a NUL or an
 * unpaired surrogate is a `UsageError`, and so is a time that is not in whole milliseconds. JSON values have no such limits
 * and are returned unchanged.
 */
export type Append = {
  /** Not empty. */
  readonly runId: string;
  /** The number of events that the run has now; 0 with `create` for a new run. */
  readonly expectedVersion: number;
  /** Given exactly if this append creates the run. */
  readonly create?: NewRun;
  /** At least one. */
  readonly events: readonly StoredEvent[];
  /** The end of the hash chain after these events. */
  readonly hash: string;
  readonly status: RunStatus;
  readonly wakeAt: number | null;
  readonly outcome: Json;
  /** New requests of this run. An id that exists in any run is an `InvariantError`. */
  readonly opened: readonly NewRequest[];
  /** Requests that are settled. One that is not pending in this run, or is named twice, is an `InvariantError`. */
  readonly settled: readonly SettledRequest[];
  /** The new progress of requests that stay pending. The same rule applies to them; one in `settled` is named twice. */
  readonly progressed?: readonly ProgressedRequest[];
  /** What came of the calls of requests that were settled earlier. A request of another run is left out. */
  readonly ended?: readonly EndedRequest[];
  /**
   * `hold`: the append is refused unless this token holds the claim, which is renewed. A lapsed claim that no other token
   * took still belongs to its token. A new run has no claim to hold.
   * `release`: as `hold`, and the claim is released.
   * `take`: takes the claim if no other token holds it. The append happens in any case.
   * `enter`: as `hold`, but takes a claim that is free or has lapsed.
   * `pass`: as `enter`, but the claim is free afterwards.
   * Absent: the claim is neither checked nor changed.
   */
  readonly claim?: { readonly how: ClaimHow; readonly token: string; readonly leaseMs: number };
  /**
   * Given if a call starts with this append: the version of the note `FREEZES` that the start was judged by, 0 if there is none. If
   * the note has another version at the moment of the append, it is refused (`freezes-changed`).
   */
  readonly freezes?: number;
  /** When the append was recorded elsewhere, if it is a copy of one in another store; the store's time by default. */
  readonly at?: number;
};

/** The note that holds what is frozen now: its collection and its key. */
export const FREEZES = ['freezes', 'now'] as const;

/** An request that is settled by an append. */
export type SettledRequest = {
  readonly id: string;
  readonly settlement: Json;
  /** What came of its call, if the same append says that. */
  readonly outcome?: Json;
};

/** An request that stays pending and has a new progress. Without `deciders`, its deciders stay as they are. */
export type ProgressedRequest = {
  readonly id: string;
  readonly progress: Json;
  readonly deciders?: Deciders | null;
};

/** A request whose call has an outcome now. */
export type EndedRequest = { readonly id: string; readonly outcome: Json };

/** What an append does with the claim: see `Append`. */
export type ClaimHow = 'hold' | 'release' | 'take' | 'enter' | 'pass';

/** `claimed`: the token of the append now holds the claim. */
export type Appended = { readonly claimed: boolean };

/** Selects runs, and a page of them. */
export type RunQuery = {
  readonly status?: RunStatus;
  readonly agent?: string;
  /** Selects the runs that this person started. */
  readonly startedBy?: string;
  /** By `createdAt`, then in the order of the appends; `newest` by default. */
  readonly order?: 'newest' | 'oldest';
  readonly after?: string;
  readonly limit: number;
};

/** Selects requests, and a page of them; oldest first by default. Settled ones are ordered by `createdAt` too, without `settledSince` and `settledBefore`. */
export type RequestQuery = Omit<RunQuery, 'status'> & {
  /** Pending ones by default. */
  readonly settled?: boolean;
  /** Only settled requests have an outcome, so this finds no pending ones. `failed` and `unknown` are found by an index. */
  readonly outcome?: RequestOutcome;
  readonly runId?: string;
  readonly tool?: string;
  readonly kind?: string;
  readonly risk?: Risk;
  readonly label?: string;
  /**
   * Words separated by spaces. Each must occur somewhere in the tool, the agent, the labels, the input or the payload shown
   * to the approver, in upper or lower case. Without an index of words, every request that passes the other filters is looked at until
   * the page is full.
   */
  readonly search?: string;
  readonly createdBefore?: number;
  readonly createdAfter?: number;
  /** Selects those that were settled at this time or later, in the order of their settlement. For settled requests. */
  readonly settledSince?: number;
  /** Selects those that were settled before this time, in the order of their settlement. For settled requests. */
  readonly settledBefore?: number;
  /**
   * Selects the requests that name one of these people or roles, and those that name nobody. With `startedBy`, also those
   * of runs that this person started, and of those that name nobody only these. Found by an index.
   */
  readonly deciders?: Deciders & { readonly startedBy?: string };
};

/**
 * Where runs live. All methods may be called at once from many processes.
 *
 * A refusal is a `ConflictError`: `run-exists`, `run-deleted`, `stale-version` (someone else appended, or the run does not
 * exist), `claim-lost` (another worker holds the run, or may), or `freezes-changed`. If several apply, `claim-lost` comes first and
 * `freezes-changed` last. Any other failure is a
 * `ProviderError` `store-failed`; `retryable` says whether the store may be back later. After such a failure the append may
 * or may not have happened: read the run to know.
 *
 * What cannot be meant is a `UsageError` `invalid-options`, and nothing is written: an append without events, one that
 * creates another run than its own or one that has a version, or that opens requests of another run; a read with a `limit`
 * below 1, or a page of no items; a page behind a cursor that no page of such a list came with; a `search` of more than 500
 * characters; statistics since a time that has not come; collections and keys of notes that are empty, too long or no names.
 * A watcher that throws has no effect on others.
 */
export interface Store {
  /** Resolves once everything is durable. Never retries. */
  append(append: Append): Promise<Appended>;
  /**
   * Reads the run and a page of its events at one moment. The page begins after the first `after` events. It ends with the
   * run, after `limit` or `MOST_PAGE_EVENTS` events, or with the event or append that makes it larger than
   * `FULL_PAGE_SIZE`. The cost does not grow with the events before and after the page. Undefined if the run does not exist.
   */
  read(runId: string, options?: ReadOptions): Promise<LoadedRun | undefined>;
  /**
   * Deletes a run that is `done` or `cancelled` and not claimed, with its events and requests, all or nothing. Returns
   * false otherwise. Only the id stays reserved, so that it is not reused by mistake. Watchers are notified.
   */
  delete(runId: string): Promise<boolean>;
  /**
   * Takes the claim and reads the run at that version, with its first events: a page, or less if others append meanwhile.
   * Undefined if the run does not exist or another token holds it.
   */
  claim(runId: string, token: string, leaseMs: number): Promise<LoadedRun | undefined>;
  /** Returns false if the claim is no longer held. */
  renew(runId: string, token: string, leaseMs: number): Promise<boolean>;
  /** Does nothing if the claim is not held or the run does not exist. Rejects if the store cannot be written. */
  release(runId: string, token: string): Promise<void>;
  /**
   * Lists unclaimed runs that are `running`, or `waiting` or `failed` with a `wakeAt` that has passed; longest due first.
   * A run is due since it began to run, regardless of later appends, or since its `wakeAt`.
   * With `agents`, only runs of these agents, because others would have to be claimed to find out.
   */
  due(limit: number, agents?: readonly string[]): Promise<readonly string[]>;
  /**
   * Counts the runs that are due or driven, at one moment, by agent in the order of their names; agents without any are left
   * out. The cost does not grow with runs that wait or have ended.
   */
  queue(): Promise<readonly AgentQueue[]>;
  /**
   * Takes requests that people may not know of yet, the longest untold first. Every append that opens, changes or settles a
   * request marks it as untold, in the same write. Each goes to one caller. Unless `told` is called, any caller may get it again
   * after `leaseMs`, then after twice as long each time, up to 64 times as long, or at once after the next such append.
   * The request does not change. Optional, as is `told`: a store without them cannot be used with channels.
   */
  takeUntold?(limit: number, leaseMs: number): Promise<readonly UntoldRequest[]>;
  /** Removes the mark of this request, unless it has other `news` by now. */
  told?(requestId: string, news: number): Promise<void>;
  listRuns(query: RunQuery): Promise<Page<RunRecord>>;
  listRequests(query: RequestQuery): Promise<Page<RequestRecord>>;
  request(id: string): Promise<RequestRecord | undefined>;
  /** Counts the runs in each status, at one moment. */
  countRuns(): Promise<RunCounts>;
  /** Counts pending and decided requests, with how long the decisions took. */
  stats(query: StatsQuery): Promise<Stats>;
  /** Small records beside the runs. */
  readonly notes: Notes;
  /** The store's time in whole milliseconds, the one clock for deadlines and claims. */
  now(): Promise<number>;
  /** Calls `changed` with the id of a run soon after any process appends to it. Returns a function that stops it. */
  watch(changed: (runId: string) => void): () => void;
  /**
   * Says which copy of the data this is: another one after it was restored from a backup, or moved. Optional: a store without it, or that
   * answers with undefined, cannot tell.
   */
  identity?(): Promise<string | undefined>;
  /** Migrates the tables. Each process that opens the store calls it; concurrent calls are safe. */
  migrate(): Promise<void>;
  close(): Promise<void>;
  /** Present if lists, searches and statistics come from a copy of the runs, which may lag. */
  readonly projection?: Projection;
}

/** The copy of the runs that the lists of a store come from. */
export interface Projection {
  /** How long the oldest change has waited that the copy lacks; 0 if it has all. */
  lagMs(): Promise<number>;
  /** Completes the copy from the runs themselves, and resolves with their number. `each` is called with the number so far. */
  rebuild(each?: (runs: number) => void): Promise<number>;
}
