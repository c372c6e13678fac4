// The journal of one run: takes its events, makes them durable in order, and notices when somebody else was first.
import { ConflictError } from '../../core/errors.ts';
import type { RunEvent } from '../../core/event.ts';
import type { Json } from '../../core/json.ts';
import { fold, type State } from '../../core/state.ts';
import type { Run } from '../../loop/run.ts';
import type { Sink } from '../../loop/sink.ts';
import { linkAll, linkNew, tamperedRun } from '../port/chain.ts';
import type { Append, ClaimHow, NewRun, RunRecord, StoredEvent } from '../port/store.ts';
import { changedQuestion, claimLapsed, isAway, isSecond, isStale, runGone, wentBack } from '../port/store-errors.ts';
import { project, statusOf } from '../questions/projection.ts';
import { dropAfterEnd, isOvertaken } from './drop-superseded.ts';
import type { JournalOptions } from './journal-options.ts';
import { Lease, type Moment } from './lease.ts';
import { atMost, MOST_RENEWALS } from './renewals.ts';

/** How long a store that is away is waited for. */
export const PATIENCE_MS = 30_000;

export class Journal implements Sink {
  readonly #options: JournalOptions;
  #run: Run | undefined;
  /** What the store knows. */
  #durable: State;
  #own: State;
  /** Where the record ends, as far as it is known here. */
  #head: Pick<RunRecord, 'version' | 'hash'>;
  #create: NewRun | undefined;
  #onStale: 'absorb' | 'fail';
  readonly #begun = Promise.withResolvers<void>();
  #hasBegun: boolean;
  #queue: StoredEvent[] = [];
  #scheduled: NodeJS.Immediate | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** A write that has not begun yet. */
  #soon: Promise<unknown> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #restedAt: State | undefined;
  #holds: boolean;
  /** What still comes, such as from a body that ran on after an end, is recorded, but the claim is not taken again. */
  #gaveUp: boolean;
  readonly #lease: Lease;
  readonly #renewing = atMost(MOST_RENEWALS);
  readonly #settlements = new Map<string, Json>();
  readonly #lost = new AbortController();

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#durable = options.state;
    this.#own = options.state;
    this.#head = { version: options.run.version, hash: options.run.hash };
    this.#create = options.create;
    this.#onStale = options.onStale;
    this.#holds = options.claim === 'hold';
    this.#hasBegun = this.#holds;
    this.#gaveUp = options.claim === 'none';
    this.#lease = new Lease(options.leaseMs, options.clock);
    // Not everybody asks.
    this.#begun.promise.catch(() => undefined);
  }

  get runId(): string {
    return this.#options.run.id;
  }

  get started(): { readonly id: string; readonly agent: string; readonly startedBy: string | null } {
    return this.#options.run;
  }

  /** The run as this journal has last written it: what others recorded since, such as a doubt, is not in it. */
  get own(): State {
    return this.#own;
  }

  get token(): string {
    return this.#options.token;
  }

  /** The run that hears of what others record. */
  attach(run: Run): void {
    this.#run = run;
  }

  /** Resolves once the first append is durable; rejects if it cannot become so. Does not hurry it. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  /** The first append is durable. Until then nothing has happened that anybody else could know of. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Aborts when the run was taken away or ended by somebody else: what still runs here should stop. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** This journal holds the claim on the run. */
  get holds(): boolean {
    return this.#holds && !this.#failure;
  }

  write(events: readonly RunEvent[]): void {
    const at = this.#options.clock();
    for (const event of events) this.#queue.push({ ...event, at });
    // Bodies and gates of a run that somebody has ended meanwhile may still be under way, until it is given up.
    if (this.#lost.signal.aborted && this.#durable.ended) dropAfterEnd(this.#queue, this.#durable);
    // What comes together becomes durable together. Whoever must not wait asks for `flushed`.
    this.#scheduled ??= setImmediate(() => {
      this.#scheduled = undefined;
      this.#inTurn(() => this.#flush('hold')).catch(() => undefined);
    });
  }

  /** How a question was settled, for the record of who decided what. */
  settle(key: string, settlement: Json): void {
    this.#settlements.set(key, settlement);
  }

  /** Resolves once everything queued is on record, whoever holds the claim by then. Who asks at once shares one write. */
  async recorded(): Promise<void> {
    this.#soon ??= this.#inTurn(() => {
      this.#soon = undefined;
      return this.#flush('hold');
    });
    await this.#soon;
    this.#throwFailure();
  }

  /** It failed before its first append was durable. */
  get neverBegan(): boolean {
    return this.#failure !== undefined && !this.#hasBegun;
  }

  /** The store is there, and does not take what it was given. */
  get isRefused(): boolean {
    const { error } = this.#failure ?? {};
    if (error instanceof ConflictError) return error.code === 'tampered-run';
    return this.#failure !== undefined && !isAway(error);
  }

  /** What could not be written, because another has taken the run over. */
  get unwritten(): readonly RunEvent[] {
    return this.#queue;
  }

  /** As `recorded`, and the claim is still held: what follows may act. */
  async flushed(): Promise<void> {
    await this.recorded();
    this.isHeld();
    this.#throwFailure();
  }

  isHeld(): boolean {
    // Asleep for longer than the claim lasts: somebody else may have taken the run since.
    if (this.#holds && this.#lease.isOver) this.#fail(claimLapsed(this.#options.run.id));
    return !this.#failure;
  }

  /**
   * Writes what is left and gives the claim up. `more`: somebody changed the run meanwhile, and the claim is still held.
   * `again`: somebody changed it just when the claim was given up, and nobody may be driving it.
   */
  finish(leaves = true): Promise<'done' | 'more' | 'again'> {
    return this.#inTurn(async () => {
      this.#throwFailure();
      if (!leaves && this.#goesOn()) return 'more';
      if (this.#holds && this.#queue.length === 0) return this.#release();
      const written = await this.#flush(this.#holds || this.#enters ? 'release' : 'hold');
      this.#throwFailure();
      return written ? 'done' : 'more';
    });
  }

  /** Somebody decided in the moment in which nothing was left to do here. */
  #goesOn(): boolean {
    const state = this.#run?.state;
    if (!this.#holds || !state || state === this.#restedAt) return false;
    this.#restedAt = state;
    return statusOf(state, this.#options.limits) === 'running';
  }

  /** One write at a time, in the order in which they were asked for. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** With nothing to write, the version cannot be held against that of the store in the same moment: look after it. */
  async #release(): Promise<'done' | 'again'> {
    const { store, run, token } = this.#options;
    this.#holds = false;
    this.#gaveUp = true;
    try {
      await store.release(run.id, token);
      const loaded = await store.read(run.id, { after: this.#head.version });
      return loaded !== undefined && loaded.events.length > 0 && loaded.run.status === 'running' ? 'again' : 'done';
    } catch {
      // Everything is on record. The claim lapses by itself, and whoever looks for work finds what is left to do.
      return 'done';
    }
  }

  /** Takes in what others recorded, such as an end, while something long runs. Does not fail: not everybody waits for it. */
  async look(): Promise<void> {
    await this.#inTurn(async () => {
      if (!this.#failure && this.#onStale === 'absorb') await this.#absorb([]);
    }).catch(() => {
      // What does not fit is found with the next write; a store that is away may be back by then.
    });
  }

  /** Keeps the claim while something long runs. */
  async renew(): Promise<void> {
    const { store, run, token, leaseMs } = this.#options;
    if (!this.holds) return;
    const asked = this.#lease.now();
    try {
      const renewed = await this.#renewing(() => store.renew(run.id, token, leaseMs));
      if (renewed === false) this.#fail(claimLapsed(run.id));
      if (!renewed) return;
      this.#lease.lastsFrom(asked);
      await this.look();
    } catch {
      // A store that is away may be back before the claim lapses; the next write tells.
    }
  }

  /** True once what was queued is written; false if it is still to be, since somebody else was first. */
  async #flush(how: 'hold' | 'release'): Promise<boolean> {
    if (this.#failure || this.#queue.length === 0) return true;
    const events = this.#queue;
    this.#queue = [];
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    try {
      return await this.#append(events, how);
    } catch (error) {
      this.#queue.unshift(...events);
      this.#fail(error);
      return false;
    }
  }

  async #append(events: StoredEvent[], how: 'hold' | 'release'): Promise<boolean> {
    const { store, clock, sleep } = this.#options;
    const deadline = clock() + PATIENCE_MS;
    let unsure = false;
    for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
      const after = this.#after(events);
      const append = this.#appendOf(events, after, how);
      // Had an earlier try been written, this one would be refused: the claim lasts from here.
      const asked = this.#lease.now();
      try {
        const { claimed } = await store.append(append);
        this.#appended(append, after, claimed, asked);
        return true;
      } catch (error) {
        const known = unsure && isSecond(error) ? await this.#wasOurs(append, after) : false;
        if (known === true) return true;
        if (known === 'nobody knows') {
          // What others seem to have recorded may be ours: it must not be written once more behind itself.
          if (clock() >= deadline) throw error;
          await sleep(pauseMs);
          continue;
        }
        if (isStale(error) && this.#onStale === 'absorb') {
          await this.#absorb(events);
          if (events.length === 0) return how === 'hold';
          if (how === 'release') {
            // Somebody decided while this worker was about to stop: it goes on, with the claim it still holds.
            this.#queue.unshift(...events);
            return false;
          }
        } else if (isAway(error) && clock() < deadline) {
          unsure = true;
          await sleep(pauseMs);
          if ((await this.#wasOurs(append, after)) === true) return true;
        } else throw changedQuestion(append, error) ?? error;
      }
    }
  }

  #appendOf(events: readonly StoredEvent[], after: State, how: 'hold' | 'release'): Append {
    const { run, token, leaseMs, limits, clock } = this.#options;
    const failed = events.findLast((event) => event.type === 'run-failed');
    return {
      runId: run.id,
      expectedVersion: this.#head.version,
      ...(this.#create && { create: this.#create }),
      events,
      hash: linkNew(this.#head.hash, events),
      ...project({ run, before: this.#durable, after, limits, now: clock(), settlements: this.#settlements }),
      // Whichever write tells of it: nothing goes on until somebody says so.
      ...(failed && { status: 'failed', outcome: failed.error }),
      ...(!this.#gaveUp && { claim: { how: this.#holds ? how : this.#firstClaim(how), token, leaseMs } }),
    };
  }

  /** The claim is still to be got, by an append that nobody may make who does not get it. */
  get #enters(): boolean {
    return this.#options.claim === 'enter' && !this.#hasBegun;
  }

  #firstClaim(how: 'hold' | 'release'): ClaimHow {
    if (!this.#enters) return 'take';
    return how === 'release' ? 'pass' : 'enter';
  }

  #after(events: readonly StoredEvent[]): State {
    try {
      if (events.some((event) => isOvertaken(event, this.#durable))) throw new Error('Somebody else was first.');
      return events.reduce(fold, this.#durable);
    } catch (error) {
      const { id } = this.#options.run;
      const message = `What was to be recorded in run ${id} does not fit what others recorded first.`;
      throw new ConflictError('stale-version', { runId: id }, message, { cause: error });
    }
  }

  #appended(append: Append, after: State, claimed: boolean, asked: Moment): void {
    const { events, hash, claim } = append;
    this.#durable = after;
    this.#own = after;
    this.#head = { version: this.#head.version + events.length, hash };
    this.#create = undefined;
    this.#hasBegun = true;
    this.#begun.resolve();
    // From now on facts are written that stay true whatever others record meanwhile.
    this.#onStale = 'absorb';
    this.#holds = claimed;
    this.#gaveUp ||= claim?.how === 'release' || claim?.how === 'pass';
    this.#lease.lastsFrom(asked);
    this.#options.onAppended(append);
  }

  /** Takes in what others recorded since; what waits to be written comes after it. */
  async #absorb(unwritten: StoredEvent[]): Promise<void> {
    const { store, run } = this.#options;
    const loaded = await store.read(run.id, { after: this.#head.version });
    if (!loaded) throw runGone(run.id);
    if (loaded.run.version < this.#head.version) throw wentBack(loaded.run, this.#head.version);
    const hash = linkAll(this.#head.hash, loaded.events);
    if (this.#head.version + loaded.events.length !== loaded.run.version || hash !== loaded.run.hash)
      throw tamperedRun(run.id, 'What others recorded does not fit what was recorded before.');
    this.#durable = loaded.events.reduce(fold, this.#durable);
    this.#head = { version: loaded.run.version, hash };
    if (this.#durable.ended) for (const list of [unwritten, this.#queue]) dropAfterEnd(list, this.#durable);
    // The store has theirs first: the run sees everything in that order.
    if (this.#run) this.#run.state = this.#after([...unwritten, ...this.#queue]);
    if (this.#durable.ended) this.#lost.abort(new Error(`The run ${run.id} was ended by somebody else.`));
  }

  /** After a store that went away, nobody knows whether the append was written: the chain tells, and who has the claim. */
  async #wasOurs(append: Append, after: State): Promise<boolean | 'nobody knows'> {
    try {
      if (!(await this.#wasWritten(append))) return false;
      const asked = this.#lease.now();
      const { runId, claim } = append;
      const wants = claim !== undefined && claim.how !== 'release' && claim.how !== 'pass';
      const claimed = wants && (await this.#options.store.renew(runId, claim.token, claim.leaseMs));
      this.#appended(append, after, claimed, asked);
      // Another who does the same at the same moment writes the very same: only one of them may act on it.
      if (wants && !claimed && claim.how !== 'take') this.#fail(claimLapsed(runId));
      return true;
    } catch (error) {
      if (isAway(error)) return 'nobody knows';
      throw error;
    }
  }

  async #wasWritten({ runId, events, hash }: Append): Promise<boolean> {
    const loaded = await this.#options.store.read(runId, { after: this.#head.version });
    return loaded !== undefined && linkAll(this.#head.hash, loaded.events.slice(0, events.length)) === hash;
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
