// The journal of one run: makes its events durable, in order, among other writers.
//
// The working state is `run.state`: the recorded state with the queued events folded in. The journal keeps the recorded
// state too: an append names its changes to the record, and events of other writers go before the queue.
import { ConflictError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type { RunEvent } from '../../core/run/event.ts';
import type { Limits } from '../../core/run/next.ts';
import { fold, type State } from '../../core/run/state.ts';
import type { Run } from '../../loop/run.ts';
import type { Sink } from '../../loop/sink.ts';
import { linkAll, linkNew, tamperedRun } from '../port/chain.ts';
import { readRun } from '../port/read-run.ts';
import type { Append, NewRun, RunRecord, Store, StoredEvent } from '../port/store.ts';
import { changedQuestion, claimLapsed, isAway, isSecond, isStale, runGone, wentBack } from '../port/store-errors.ts';
import { project, statusOf, withUsage } from '../requests/projection.ts';
import { type Claim, type ClaimOption, claimAfter, claimIn, hasLapsed, type Moment, momentBy } from './claim.ts';
import { dropAfterEnd, isSuperseded } from './drop-superseded.ts';

/** How long a journal retries while the store is away. */
export const PATIENCE_MS = 30_000;

/** How many renewals of a run may be in flight. One may be lost with its connection; more would wait for the same one. */
const MOST_RENEWALS = 2;

export type JournalOptions = {
  readonly store: Store;
  readonly run: NewRun & Pick<RunRecord, 'version' | 'hash'>;
  /** The recorded state of the run. A run without events is created by the first append. */
  readonly state: State;
  readonly newId: () => string;
  readonly leaseMs: number;
  readonly limits: Limits;
  readonly clock: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly claim: ClaimOption;
  /** Hears of each durable append, and of the run it belongs to. */
  readonly onAppended: (append: Append, run: NewRun) => void;
};

/** The run as the store has it. */
export type Recorded = Pick<RunRecord, 'version' | 'hash'> & { readonly state: State };

export class Journal implements Sink {
  readonly token: string;
  readonly #options: JournalOptions;
  #run: Run | undefined;
  #recorded: Recorded;
  #own: Recorded;
  #queue: StoredEvent[] = [];
  #claim: Claim;
  #failure: { readonly error: unknown } | undefined;
  #hasBegun: boolean;
  readonly #begun = Promise.withResolvers<void>();
  readonly #lost = new AbortController();
  readonly #settlements = new Map<string, Json>();
  #renewals = 0;
  #scheduled: NodeJS.Immediate | undefined;
  /** How many look-ups the next append waits for. */
  #waits = 0;
  #lastWrite: Promise<unknown> = Promise.resolve();
  /** A write that waits for its turn: callers that come meanwhile share it. */
  #nextWrite: Promise<unknown> | undefined;
  /** The state when `finish` last returned `more`. */
  #finishedAt: State | undefined;

  constructor(options: JournalOptions) {
    this.#options = options;
    const { run, state, claim, clock, newId } = options;
    this.#recorded = { version: run.version, hash: run.hash, state };
    this.#own = this.#recorded;
    const isHeld = typeof claim === 'object';
    this.token = isHeld ? claim.held : newId();
    if (isHeld) this.#claim = { at: 'held', since: momentBy(clock) };
    else this.#claim = claim === 'none' ? { at: 'none' } : { at: 'wanted', by: claim };
    this.#hasBegun = isHeld;
    if (isHeld) this.#begun.resolve();
    // A rejection is not unhandled if no caller waits for it.
    this.#begun.promise.catch(() => undefined);
  }

  get runId(): string {
    return this.#options.run.id;
  }

  get started(): NewRun {
    const { id, agent, startedBy } = this.#options.run;
    return { id, agent, startedBy };
  }

  /** The run as this journal wrote it last. Later events of other writers, such as a doubt, are not in it. */
  get own(): Recorded {
    return this.#own;
  }

  /** Sets the run that takes in the events of other writers. */
  attach(run: Run): void {
    this.#run = run;
  }

  /** Resolves once the first append is durable, or the claim is held; rejects if that cannot be. Does not trigger it. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  /** The first append is durable. Before that, no one else can know of anything that happened here. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** The journal failed before its first append was durable. */
  get neverBegan(): boolean {
    return this.#failure !== undefined && !this.#hasBegun;
  }

  /** Aborts when another worker took the run over or someone ended it: what still runs here should stop. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** This journal holds the claim on the run. */
  get holds(): boolean {
    return this.#claim.at === 'held' && !this.#failure;
  }

  /** The store is available but rejects an append. */
  get isRefused(): boolean {
    const { error } = this.#failure ?? {};
    if (error instanceof ConflictError) return error.code === 'tampered-run';
    return this.#failure !== undefined && !isAway(error);
  }

  /** The events that could not be written. */
  get unwritten(): readonly RunEvent[] {
    return this.#queue;
  }

  write(events: readonly RunEvent[]): void {
    const at = this.#options.clock();
    for (const event of events) this.#queue.push({ ...event, at });
    // Bodies may still run after someone else ended the run.
    if (this.#lost.signal.aborted && this.#recorded.state.ended) dropAfterEnd(this.#queue, this.#recorded.state);
    this.#schedule();
  }

  /** Events of one turn of the event loop become durable together. Callers that cannot wait use `flushed`. */
  #schedule(): void {
    if (this.#waits > 0 || this.#queue.length === 0) return;
    this.#scheduled ??= setImmediate(() => {
      this.#scheduled = undefined;
      this.#inTurn(() => this.#flush(false)).catch(() => undefined);
    });
  }

  /** Events wait for a short look-up, so that what follows from it becomes durable in the same append. */
  async withNext<T>(lookUp: Promise<T>): Promise<T> {
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    this.#waits += 1;
    try {
      return await lookUp;
    } finally {
      this.#waits -= 1;
      this.#schedule();
    }
  }

  /** Says how a question was settled, for the record of who decided what. */
  settle(key: string, settlement: Json): void {
    this.#settlements.set(key, settlement);
  }

  /** Resolves once the queue is recorded, whether or not the claim is still held. */
  async recorded(): Promise<void> {
    this.#nextWrite ??= this.#inTurn(() => {
      this.#nextWrite = undefined;
      return this.#flush(false);
    });
    await this.#nextWrite;
    this.#throwFailure();
  }

  /** As `recorded`, and the claim is still held: what follows may act. */
  async flushed(): Promise<void> {
    await this.recorded();
    this.isHeld();
    this.#throwFailure();
  }

  isHeld(): boolean {
    const { clock, leaseMs, run } = this.#options;
    // The process was suspended for longer than the lease: another worker may have taken the run over.
    if (this.#claim.at === 'held' && hasLapsed(this.#claim.since, momentBy(clock), leaseMs))
      this.#fail(claimLapsed(run.id));
    return !this.#failure;
  }

  /**
   * Writes the queued events and gives the claim up. `more`: someone else wrote meanwhile, and the claim is still held.
   * `again`: someone else wrote just as the claim was given up, so perhaps no worker drives the run.
   */
  finish(leaves = true): Promise<'done' | 'more' | 'again'> {
    return this.#inTurn(async () => {
      this.#throwFailure();
      if (!leaves && this.#hasMoreToDo()) return 'more';
      if (this.#claim.at === 'held' && this.#queue.length === 0) return this.#release();
      const isWritten = await this.#flush(claimIn(this.#claim, true) !== claimIn(this.#claim, false));
      this.#throwFailure();
      return isWritten ? 'done' : 'more';
    });
  }

  /** Someone decided just as nothing was left to do here. */
  #hasMoreToDo(): boolean {
    const state = this.#run?.state;
    if (this.#claim.at !== 'held' || !state || state === this.#finishedAt) return false;
    this.#finishedAt = state;
    return statusOf(state, this.#options.limits) === 'running';
  }

  /** Runs one write at a time, in the order of the requests. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#lastWrite.then(work);
    this.#lastWrite = turn.catch(() => undefined);
    return turn;
  }

  /** Without an append, the store cannot compare versions as it releases the claim. So this reads the run afterwards. */
  async #release(): Promise<'done' | 'again'> {
    const { store, run } = this.#options;
    this.#claim = { at: 'none' };
    try {
      await store.release(run.id, this.token);
      const loaded = await store.read(run.id, { after: this.#recorded.version });
      return loaded !== undefined && loaded.events.length > 0 && loaded.run.status === 'running' ? 'again' : 'done';
    } catch {
      // Everything is recorded. The claim lapses by itself, and a worker finds the rest of the work.
      return 'done';
    }
  }

  /** Takes in what others recorded, such as an end, while a tool runs. Never rejects. */
  async look(): Promise<void> {
    await this.#inTurn(async () => {
      if (!this.#failure && this.#hasBegun) await this.#absorb([]);
    }).catch(() => {
      // The next write finds the same problem; a store that is away may be back by then.
    });
  }

  /** Renews the claim while a tool runs. */
  async renew(): Promise<void> {
    const { store, run, leaseMs, clock } = this.#options;
    if (!this.holds || this.#renewals >= MOST_RENEWALS) return;
    const asked = momentBy(clock);
    this.#renewals += 1;
    const renewing = store.renew(run.id, this.token, leaseMs).finally(() => {
      this.#renewals -= 1;
    });
    try {
      if (!(await renewing)) return this.#fail(claimLapsed(run.id));
      if (this.#claim.at === 'held') this.#claim = { at: 'held', since: asked };
      await this.look();
    } catch {
      // A store that is away may be back before the claim lapses; the next write finds out.
    }
  }

  /** Returns false if something is still to be written, because someone else wrote first. */
  async #flush(leaves: boolean): Promise<boolean> {
    if (this.#failure || this.#queue.length === 0) return true;
    const events = this.#queue;
    this.#queue = [];
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    try {
      return await this.#append(events, leaves);
    } catch (error) {
      this.#queue.unshift(...events);
      this.#fail(error);
      return false;
    }
  }

  /** Appends until the store takes it: behind what others wrote, and again after a failure that may pass. */
  async #append(events: StoredEvent[], leaves: boolean): Promise<boolean> {
    const { store, clock, sleep } = this.#options;
    const deadline = clock() + PATIENCE_MS;
    let mayBeWritten = false;
    for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
      const after = this.#stateAfter(events);
      const append = this.#appendOf(events, after, leaves);
      // If an earlier attempt was written, this one is refused: so the lease counts from here.
      const asked = momentBy(clock);
      try {
        const { claimed } = await store.append(append);
        this.#appended(append, after, claimed, asked);
        return true;
      } catch (error) {
        const isOurs = mayBeWritten && isSecond(error) ? await this.#wasOurs(append, after) : false;
        if (isOurs === true) return true;
        if (isOurs === 'unknown') {
          // What others seem to have recorded may be ours, and must not be written twice.
          if (clock() >= deadline) throw error;
          await sleep(pauseMs);
          continue;
        }
        // After its first recorded append, this journal writes facts, which stay true after the events of others.
        if (isStale(error) && this.#hasBegun) {
          await this.#absorb(events);
          if (events.length === 0) return !leaves;
          if (leaves) {
            // Someone decided while this worker was about to stop: it continues, with the claim that it still holds.
            this.#queue.unshift(...events);
            return false;
          }
        } else if (isAway(error) && clock() < deadline) {
          mayBeWritten = true;
          await sleep(pauseMs);
          if ((await this.#wasOurs(append, after)) === true) return true;
        } else throw changedQuestion(append, error) ?? error;
      }
    }
  }

  #appendOf(events: readonly StoredEvent[], after: State, leaves: boolean): Append {
    const { run, leaseMs, limits, clock } = this.#options;
    const { version, hash, state: before } = this.#recorded;
    const failed = events.findLast((event) => event.type === 'run-failed');
    const how = claimIn(this.#claim, leaves);
    return {
      runId: run.id,
      expectedVersion: version,
      ...(version === 0 && { create: this.started }),
      events,
      hash: linkNew(hash, events),
      ...project({ run, before, after, limits, now: clock(), settlements: this.#settlements }),
      // The run stays failed until someone drives it on.
      ...(failed && { status: 'failed', outcome: withUsage(failed.error, after) }),
      ...(how && { claim: { how, token: this.token, leaseMs } }),
    };
  }

  /** The recorded state with these events. Throws `stale-version` if they do not fit what others recorded first. */
  #stateAfter(events: readonly StoredEvent[]): State {
    const { state } = this.#recorded;
    try {
      if (events.some((event) => isSuperseded(event, state))) throw new Error('Someone else was first.');
      return events.reduce(fold, state);
    } catch (error) {
      const { id } = this.#options.run;
      const message = `New events of run ${id} do not fit what others recorded first. Load the run again.`;
      throw new ConflictError('stale-version', { runId: id }, message, { cause: error });
    }
  }

  #appended(append: Append, after: State, claimed: boolean, asked: Moment): void {
    const { events, hash, claim } = append;
    this.#recorded = { version: this.#recorded.version + events.length, hash, state: after };
    this.#own = this.#recorded;
    this.#claim = claimAfter(claim?.how, claimed, asked);
    this.#hasBegun = true;
    this.#begun.resolve();
    this.#options.onAppended(append, this.started);
  }

  /** Takes in what others recorded since. The events that are not written yet come after it. */
  async #absorb(unwritten: StoredEvent[]): Promise<void> {
    const { store, run } = this.#options;
    const { version, hash: end, state: before } = this.#recorded;
    const loaded = await readRun(store, run.id, version);
    if (!loaded) throw runGone(run.id);
    if (loaded.run.version < version) throw wentBack(loaded.run, version);
    const hash = linkAll(end, loaded.events);
    if (version + loaded.events.length !== loaded.run.version || hash !== loaded.run.hash)
      throw tamperedRun(run.id, 'New events do not continue the events that were recorded before.');
    const state = loaded.events.reduce(fold, before);
    this.#recorded = { version: loaded.run.version, hash, state };
    if (state.ended) for (const events of [unwritten, this.#queue]) dropAfterEnd(events, state);
    if (this.#run) this.#run.state = this.#stateAfter([...unwritten, ...this.#queue]);
    if (state.ended) this.#lost.abort(new Error(`Run ${run.id} was ended by someone else.`));
  }

  /** Whether an append was written although the store failed. The hash chain tells, and the claim whether it may act. */
  async #wasOurs(append: Append, after: State): Promise<boolean | 'unknown'> {
    try {
      if (!(await this.#wasWritten(append))) return false;
      const asked = momentBy(this.#options.clock);
      const { runId, claim } = append;
      const wants = claim !== undefined && claim.how !== 'release' && claim.how !== 'pass';
      const claimed = wants && (await this.#options.store.renew(runId, claim.token, claim.leaseMs));
      this.#appended(append, after, claimed, asked);
      // Another worker may have written the very same events at the same time: only one of them may act on them.
      if (wants && !claimed && claim.how !== 'take') this.#fail(claimLapsed(runId));
      return true;
    } catch (error) {
      if (isAway(error)) return 'unknown';
      throw error;
    }
  }

  async #wasWritten({ runId, events, hash }: Append): Promise<boolean> {
    const { version, hash: end } = this.#recorded;
    const loaded = await readRun(this.#options.store, runId, version);
    return loaded !== undefined && linkAll(end, loaded.events.slice(0, events.length)) === hash;
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#begun.reject(error);
    this.#run?.close();
    this.#lost.abort(error);
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }
}
