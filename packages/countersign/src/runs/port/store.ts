// The store port: where runs live. Every change of a run is one `append`; everything else reads, or holds a claim.
import type { RunEvent } from '../../core/event.ts';
import type { Json } from '../../core/json.ts';
import type { Notes } from './notes.ts';
import type { Page } from './page.ts';
import type { Stats, StatsQuery } from './stats.ts';

export type { Page } from './page.ts';

/** `running`: there is something to do. `waiting`: for a person or a time. The rest have ended. */
export type RunStatus = 'running' | 'waiting' | 'done' | 'failed' | 'cancelled';

/** How many runs there are in each status. */
export type RunCounts = Readonly<Record<RunStatus, number>>;

/** An event with the time of the store at which it was recorded, in milliseconds. */
export type StoredEvent = RunEvent & { readonly at: number };

/** What is known of a run without reading its events. */
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
  /** When the run has to be looked at again although nobody decided anything. */
  readonly wakeAt: number | null;
  /** How it ended, or why it stopped: JSON that the engine writes and reads. */
  readonly outcome: Json;
};

/** A run with its events, or with those that were asked for. */
export type LoadedRun = { readonly run: RunRecord; readonly events: readonly StoredEvent[] };

/** Which of its events are read with a run; all of them unless given. */
export type ReadOptions = { readonly after?: number; readonly limit?: number };

/** How much is at stake, as the one who asks sees it. */
export type Risk = 'low' | 'medium' | 'high';

/**
 * What became of a question. Each settled one is `approved` (also with changes, or restarted), `rejected`, `answered` or
 * `cancelled`, which are also those that were withdrawn. Among them, `edited` are those approved with changes, and
 * `expired` those that nobody decided in time.
 *
 * A store reads it from the settlement. `decision.type` is `approve`, `restart`, `reject`, `respond` or `cancel`, and there is no
 * `decision` where the question was withdrawn. One with an `edit` or a `replaceInput` is edited. What a deadline decided has
 * `deadline` as `by` and null as `channel`.
 */
export type InterruptOutcome = 'approved' | 'edited' | 'rejected' | 'answered' | 'cancelled' | 'expired';

/** A question that waits, or waited, for a person. It never changes but for its settlement. */
export type InterruptRecord = {
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
  readonly remindAt: number | null;
  /**
   * What the person is shown and what the digest covers: JSON that the engine writes and reads. A search looks for texts and
   * numbers below its `part.toolRequest.input` and its `part.metadata.interrupt`.
   */
  readonly card: Json;
  readonly digest: string;
  /** Null while it waits. */
  readonly settledAt: number | null;
  /** Who decided what, or why nobody will: JSON. */
  readonly settlement: Json;
};

/** A question that begins to wait. Who started its run is known to the store. */
export type NewInterrupt = Omit<InterruptRecord, 'startedBy' | 'settledAt' | 'settlement'>;

/** A reminder that somebody took, and now has to see to. */
export type TakenReminder = {
  readonly interrupt: InterruptRecord;
  /** How often it was taken, this time included. */
  readonly attempt: number;
};

/** What a run is created with. */
export type NewRun = Pick<RunRecord, 'id' | 'agent' | 'startedBy'>;

/**
 * One change of a run. All of it becomes durable, or nothing.
 *
 * Names (ids, agents, tools, kinds, labels, hashes, digests, tokens) are compared as they are: one with a NUL or half a
 * surrogate pair is refused as `UsageError`, and so are times that are not in whole milliseconds. JSON values have no such
 * limits, and come back byte for byte.
 */
export type Append = {
  /** Not empty. */
  readonly runId: string;
  /** The number of events the run has now; 0 with `create` for a new run. */
  readonly expectedVersion: number;
  /** Present exactly when the run is to be created by this append. */
  readonly create?: NewRun;
  /** At least one. */
  readonly events: readonly StoredEvent[];
  /** The end of the hash chain after these events. */
  readonly hash: string;
  readonly status: RunStatus;
  readonly wakeAt: number | null;
  readonly outcome: Json;
  /** Questions of this run that begin to wait. An id that there is already, in any run, is an `InvariantError`. */
  readonly opened: readonly NewInterrupt[];
  /** Questions that stop waiting. One that does not wait in this run, or is named twice, is an `InvariantError`. */
  readonly settled: readonly SettledInterrupt[];
  /**
   * `hold`: the claim of this token must still be held, or the append is refused; it is kept and renewed. One that has
   * lapsed and that nobody took still belongs to its token. A run that is created has no claim that could be held.
   * `release`: the same, and it is given up.
   * `take`: takes a claim for the token if none is held by anybody else; the append happens in any case.
   * `enter`: as `hold`, but a claim that nobody holds, or that has lapsed, will do too: it is taken.
   * `pass`: as `enter`, but nobody holds the claim afterwards.
   * Absent: no claim is looked at or changed.
   */
  readonly claim?: { readonly how: ClaimHow; readonly token: string; readonly leaseMs: number };
};

/** A question that stops waiting. `labelled: false` says that it has no labels, and saves the store a look for them. */
export type SettledInterrupt = { readonly id: string; readonly settlement: Json; readonly labelled?: boolean };

/** What an append does about the claim: see `Append`. */
export type ClaimHow = 'hold' | 'release' | 'take' | 'enter' | 'pass';

/** `claimed`: the token of the append holds the claim now. */
export type Appended = { readonly claimed: boolean };

/** Which runs, and which page of them. */
export type RunQuery = {
  readonly status?: RunStatus;
  readonly agent?: string;
  readonly startedBy?: string;
  /** By `createdAt`, those of one millisecond as they were appended; `newest` first unless given. */
  readonly order?: 'newest' | 'oldest';
  readonly after?: string;
  readonly limit: number;
};

/** Which questions, and which page of them. */
export type InterruptQuery = {
  /** Those that wait, unless given. */
  readonly settled?: boolean;
  /** Only settled ones have one: of those that wait, none is found. */
  readonly outcome?: InterruptOutcome;
  readonly runId?: string;
  readonly agent?: string;
  readonly tool?: string;
  readonly kind?: string;
  readonly risk?: Risk;
  readonly label?: string;
  /** Of runs that this one started. */
  readonly startedBy?: string;
  /**
   * Words. Each of them must begin a word of the question, whatever the case of its letters: in the names of the tool and
   * the agent, the labels, the input, or what the asker wants shown. A word is letters, marks and digits in a row.
   */
  readonly search?: string;
  readonly createdBefore?: number;
  readonly createdAfter?: number;
  /** By `createdAt`, also the settled ones, those of one millisecond as they were appended; `oldest` first unless given. */
  readonly order?: 'newest' | 'oldest';
  readonly after?: string;
  readonly limit: number;
};

/**
 * Where runs live. All methods may be called at once from many processes.
 *
 * Refusals are values of `ConflictError`: `run-exists`, `run-deleted`, `stale-version` (someone appended since, or there is no such run),
 * `claim-lost` (another worker holds the run, or may). Whoever has lost the claim and is behind as well is told
 * `claim-lost`. Anything else that goes wrong is a `ProviderError` `store-failed` whose `retryable` says whether the
 * store may be back later; after it, nobody can assume that the append happened or not: read to know.
 *
 * What cannot be meant is a `UsageError` `invalid-options`, and nothing is written: an append without events, one that
 * creates another run than its own or one that has a version, or that opens questions of another run; a read with a `limit`
 * below 1, or a page of no items; a page behind a cursor that no page of such a list came with; a `search` of more than 500
 * characters; statistics since a time that has not come; collections and keys of notes that are empty, too long or no names.
 * A watcher that throws harms nobody.
 */
export interface Store {
  /** Resolves once everything is durable. Never retries. */
  append(append: Append): Promise<Appended>;
  /**
   * The run and its events, those after the first `after` only, and at most `limit` of these, all of one moment. What it
   * costs does not grow with the events that are left out. Undefined if there is no such run.
   */
  read(runId: string, options?: ReadOptions): Promise<LoadedRun | undefined>;
  /**
   * Deletes a run that is `done` or `cancelled` and that nobody holds, with its events and its questions; all of it or
   * nothing. False if the run is not so, or there is none. Only its id stays, so that nobody starts it again by mistake:
   * for everything else there is no such run. Whoever watches hears of it.
   */
  delete(runId: string): Promise<boolean>;
  /** Takes the claim and reads the run at one moment. Undefined if there is no such run or another token holds it. */
  claim(runId: string, token: string, leaseMs: number): Promise<LoadedRun | undefined>;
  /** False if the claim is no longer held. */
  renew(runId: string, token: string, leaseMs: number): Promise<boolean>;
  /** Does nothing if the claim is not held, also where there is no such run; but rejects where nothing can be written. */
  release(runId: string, token: string): Promise<void>;
  /**
   * Runs that nobody holds and that are `running`, or that are `waiting` or `failed` and whose `wakeAt` has come; the longest
   * due first.
   * A run is due since it began to run, however often it was appended to since then, or since its `wakeAt`.
   * With `agents`, only runs of these: others, however many, would have to be claimed to find that out.
   */
  due(limit: number, agents?: readonly string[]): Promise<readonly string[]>;
  /**
   * Takes reminders whose `remindAt` has come, the longest due first, of questions that wait and have not expired. Each
   * goes to one caller, and is given again, to anybody, after `leaseMs` unless `reminded` was called: after twice as long
   * each time, up to 64 times as long. The question itself stays as it is.
   */
  takeReminders(limit: number, leaseMs: number): Promise<readonly TakenReminder[]>;
  /** The reminder of this question is not given again. Nothing happens where there is none. */
  reminded(interruptId: string): Promise<void>;
  listRuns(query: RunQuery): Promise<Page<RunRecord>>;
  listInterrupts(query: InterruptQuery): Promise<Page<InterruptRecord>>;
  interrupt(id: string): Promise<InterruptRecord | undefined>;
  /** How many runs there are in each status, all at one moment. */
  countRuns(): Promise<RunCounts>;
  /** How deciding goes: what waits, what was decided since, and how long it took. */
  stats(query: StatsQuery): Promise<Stats>;
  /**
   * Makes what lists with `search` or `startedBy`, `stats` and `countRuns` need to be fast among many, once and for all.
   * They work without it as well, but every question is looked at. Afterwards each question costs some more to write, so
   * this is for those who show lists to people. Safe to be called again, and by several at once.
   */
  prepareSearch(): Promise<void>;
  /** Small records beside the runs. */
  readonly notes: Notes;
  /** The store's own time, in whole milliseconds: the one clock that deadlines and claims are held against. */
  now(): Promise<number>;
  /** Calls `changed` with the id of a run soon after it was appended to, by any process. Returns how to stop. */
  watch(changed: (runId: string) => void): () => void;
  /** Brings the tables up to date; called by whoever opens the store, safe when several do at once. */
  migrate(): Promise<void>;
  close(): Promise<void>;
}
