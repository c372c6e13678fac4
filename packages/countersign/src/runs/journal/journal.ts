// The journal of one run: makes its events durable, in order, among other writers.
//
// The working state is `run.state`: the record with the queued events folded in. Events of other writers go before them.
import { ConflictError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type { RunEvent } from '../../core/run/event.ts';
import type { State } from '../../core/run/state.ts';
import type { Run } from '../../loop/run.ts';
import type { Sink } from '../../loop/sink.ts';
import type { NewRun, StoredEvent } from '../port/store.ts';
import { claimLapsed, isAway } from '../port/store-errors.ts';
import { statusOf } from '../requests/projection.ts';
import { Appending, type JournalOptions } from './appending.ts';
import { dropAfterEnd } from './drop-superseded.ts';
import { type Recorded, stateAfter } from './record.ts';

export class Journal implements Sink {
  readonly #options: JournalOptions;
  readonly #appending: Appending;
  #run: Run | undefined;
  #queue: StoredEvent[] = [];
  /** The events that are being appended, which come before the queue. */
  #leaving: StoredEvent[] = [];
  #failure: { readonly error: unknown } | undefined;
  readonly #begun = Promise.withResolvers<void>();
  readonly #lost = new AbortController();
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
    this.#appending = new Appending(options, {
      absorb: () => this.#absorb(),
      changed: () => this.#fold(),
      began: this.#begun.resolve,
      fail: (error) => this.#fail(error),
    });
    if (this.hasBegun) this.#begun.resolve();
    // A rejection is not unhandled if no caller waits for it.
    this.#begun.promise.catch(() => undefined);
  }

  get runId(): string {
    return this.#options.run.id;
  }

  get started(): NewRun {
    return this.#appending.created;
  }

  get token(): string {
    return this.#appending.claim.token;
  }

  /** The run as this journal wrote it last. Later events of other writers, such as a doubt, are not in it. */
  get own(): Recorded {
    return this.#appending.record.own;
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
    return this.#appending.hasBegun;
  }

  /** The journal failed before its first append was durable. */
  get neverBegan(): boolean {
    return this.#failure !== undefined && !this.hasBegun;
  }

  /** Aborts when another worker took the run over or someone ended it: what still runs here should stop. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** This journal holds the claim on the run. */
  get holds(): boolean {
    return this.#appending.claim.isHeld && !this.#failure;
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

  stamp(event: RunEvent): StoredEvent {
    return { ...event, at: this.#options.clock() };
  }

  write(events: readonly RunEvent[]): void {
    for (const event of events) this.#queue.push(event as StoredEvent);
    // Bodies may still run after someone else ended the run.
    if (this.#lost.signal.aborted) dropIfEnded(this.#appending.record.current.state, this.#queue);
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

  #unschedule(): void {
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
  }

  /** Events wait for a short look-up, so that what follows from it becomes durable in the same append. */
  async withNext<T>(lookUp: Promise<T>): Promise<T> {
    this.#unschedule();
    this.#waits += 1;
    try {
      return await lookUp;
    } finally {
      this.#waits -= 1;
      this.#schedule();
    }
  }

  /** Says how a request was settled, for the record of who decided what. */
  settle(key: string, settlement: Json): void {
    this.#appending.settle(key, settlement);
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

  frozen(start: RunEvent): (RunEvent & { readonly type: 'call-frozen' }) | undefined {
    return this.#appending.freezing.frozen(start);
  }

  /** As `recorded`, and the claim is still held: what follows may act. */
  async flushed(): Promise<void> {
    await this.recorded();
    this.isHeld();
    this.#throwFailure();
  }

  isHeld(): boolean {
    if (this.#appending.claim.hasLapsed) this.#fail(claimLapsed(this.runId));
    return !this.#failure;
  }

  /**
   * Writes the queued events and gives the claim up. `more`: someone else wrote meanwhile, and the claim is still held.
   * `again`: someone else wrote just as the claim was given up, so perhaps no worker drives the run.
   */
  finish(leaves = true): Promise<'done' | 'more' | 'again'> {
    return this.#inTurn(async () => {
      this.#throwFailure();
      const { claim } = this.#appending;
      if (!leaves && this.#hasMoreToDo()) return 'more';
      if (claim.isHeld && this.#queue.length === 0) return this.#release();
      const isWritten = await this.#flush(claim.howTo(true) !== claim.howTo(false));
      this.#throwFailure();
      return isWritten ? 'done' : 'more';
    });
  }

  /** Someone decided just as nothing was left to do here. */
  #hasMoreToDo(): boolean {
    const state = this.#run?.state;
    if (!this.#appending.claim.isHeld || !state || state === this.#finishedAt) return false;
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
    const { record, claim } = this.#appending;
    try {
      await claim.release();
      const loaded = await this.#options.store.read(this.runId, { after: record.current.version });
      return loaded !== undefined && loaded.events.length > 0 && loaded.run.status === 'running' ? 'again' : 'done';
    } catch {
      // Everything is recorded. The claim lapses by itself, and a worker finds the rest of the work.
      return 'done';
    }
  }

  /** Takes in what others recorded, such as an end, while a tool runs. Never rejects. */
  async look(): Promise<void> {
    await this.#inTurn(async () => {
      if (!this.#failure && this.hasBegun) await this.#absorb();
    }).catch(() => {
      // The next write finds the same problem; a store that is away may be back by then.
    });
  }

  /** Renews the claim while a tool runs. */
  async renew(): Promise<void> {
    if (!this.holds) return;
    try {
      const isRenewed = await this.#appending.claim.renew();
      if (isRenewed === false) this.#fail(claimLapsed(this.runId));
      if (isRenewed) await this.look();
    } catch {
      // A store that is away may be back before the claim lapses; the next write finds out.
    }
  }

  /** Returns false if something is still to be written, because someone else wrote first. */
  async #flush(leaves: boolean): Promise<boolean> {
    if (this.#failure || this.#queue.length === 0) return true;
    this.#leaving = this.#queue;
    this.#queue = [];
    this.#unschedule();
    try {
      // The working state may have events that were dropped because someone ended the run.
      const known = this.#lost.signal.aborted ? undefined : this.#run?.state;
      const isWritten = await this.#appending.append(this.#leaving, leaves, known);
      if (!isWritten) this.#queue.unshift(...this.#leaving);
      return isWritten;
    } catch (error) {
      this.#queue.unshift(...this.#leaving);
      this.#fail(error);
      return false;
    } finally {
      this.#leaving = [];
    }
  }

  /** Takes in what others recorded since. The events that are not written yet come after it. */
  async #absorb(): Promise<void> {
    const { record } = this.#appending;
    await record.refresh();
    const { state } = record.current;
    dropIfEnded(state, this.#leaving, this.#queue);
    this.#fold();
    if (state.ended) this.#lost.abort(new Error(`Run ${this.runId} was ended by someone else.`));
  }

  /** The working state has what is recorded, and what is still to be written. */
  #fold(): void {
    const { state } = this.#appending.record.current;
    if (this.#run) this.#run.state = stateAfter(this.runId, state, [...this.#leaving, ...this.#queue]);
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

function dropIfEnded(recorded: State, ...unwritten: StoredEvent[][]): void {
  if (recorded.ended) for (const events of unwritten) dropAfterEnd(events, recorded);
}
