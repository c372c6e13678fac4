// Appends the events of a run until the store takes them: behind what others wrote, and again after a failure that may pass.
import type { Json } from '../../core/json.ts';
import type { Limits } from '../../core/run/next.ts';
import type { State } from '../../core/run/state.ts';
import { bookOf, type Frozen } from '../freezes/book.ts';
import { Freezing, freezesIn, startsCalls } from '../freezes/freezing.ts';
import { linkNew } from '../port/chain.ts';
import type { Append, NewRun, RunRecord, Store, StoredEvent } from '../port/store.ts';
import { areFreezesOld, changedRequest, claimLapsed, isAway, isSecond, isStale } from '../port/store-errors.ts';
import { project, withUsage } from '../requests/projection.ts';
import { type ClaimOption, type Moment, RunClaim } from './claim.ts';
import { KnownRecord, type Recorded } from './record.ts';

/** How long a journal retries while the store is away. */
export const PATIENCE_MS = 30_000;

export type JournalOptions = {
  readonly store: Store;
  readonly run: NewRun & Pick<RunRecord, 'version' | 'hash'>;
  /** The recorded state of the run. A run without events is created by the first append. */
  readonly state: State;
  readonly newId: () => string;
  readonly leaseMs: number;
  readonly limits: Limits;
  /** The store's time, as it is estimated here. */
  readonly clock: () => number;
  /** That of the process. A new estimate of the store's time does not set it back, so leases are judged by it. */
  readonly processClock: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly claim: ClaimOption;
  /** Hears of each durable append, and of the run it belongs to. */
  readonly onAppended: (append: Append, run: NewRun) => void;
};

/** The journal, as its appends see it. */
export type Appended = {
  /** Takes in what others recorded, and removes events that no longer apply from those that are being appended. */
  absorb(): Promise<void>;
  /** The events that are being appended have changed. */
  changed(): void;
  /** An append is durable. */
  began(): void;
  /** The claim was lost, although the events were written. */
  fail(error: unknown): void;
};

/** An append without an answer: it may be written, even later. */
type Attempt = { readonly append: Append; readonly after: State };

export class Appending {
  readonly record: KnownRecord;
  readonly claim: RunClaim;
  readonly #options: JournalOptions;
  readonly #journal: Appended;
  readonly freezing = new Freezing();
  readonly #settlements = new Map<string, Json>();
  #hasBegun: boolean;
  /** The events that are being appended have frozen calls. */
  #wasFrozen = false;

  constructor(options: JournalOptions, journal: Appended) {
    const { run, state, store, claim } = options;
    this.#options = options;
    this.#journal = journal;
    this.record = new KnownRecord(store, run.id, { version: run.version, hash: run.hash, state });
    this.claim = new RunClaim(claim, { ...options, clock: options.processClock, runId: run.id });
    this.#hasBegun = this.claim.isHeld;
  }

  /** The first append is durable, or the claim was held before it. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  get created(): NewRun {
    const { id, agent, startedBy } = this.#options.run;
    return { id, agent, startedBy };
  }

  /** Says how a request was settled, for the record of who decided what. */
  settle(key: string, settlement: Json): void {
    this.#settlements.set(key, settlement);
  }

  /**
   * False if nothing was written, because someone decided while this worker was about to leave: it continues, with the claim
   * that it still holds. The array loses events that no longer apply. `known`: the state after them, if nobody else writes.
   */
  async append(events: StoredEvent[], leaves: boolean, known: State | undefined): Promise<boolean> {
    const { store, clock, sleep } = this.#options;
    const deadline = clock() + PATIENCE_MS;
    const unanswered: Attempt[] = [];
    for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
      const isJudged = startsCalls(events) ? await this.#judge(events, known) : undefined;
      const before = this.record.current;
      const after = this.record.stateAfter(events, isJudged?.isFrozen ? undefined : known);
      const append = this.#appendOf([...events], before, after, leaves, isJudged?.version);
      // If an earlier attempt was written, this one is refused: so the lease counts from here.
      const asked = this.claim.now();
      try {
        const { claimed } = await store.append(append);
        this.#appended(append, after, claimed, asked);
        return true;
      } catch (error) {
        const isOurs = isSecond(error) ? await this.#wasOurs(unanswered, events) : false;
        if (isOurs === true) return true;
        if (isOurs === 'unknown') {
          // What others seem to have recorded may be ours, and must not be written twice.
          if (clock() >= deadline) throw error;
          await sleep(pauseMs);
          continue;
        }
        if (areFreezesOld(error)) {
          bookOf(store).known = undefined;
          continue;
        }
        // After its first recorded append, this journal writes facts, which stay true after the events of others.
        if (isStale(error) && this.#hasBegun) {
          await this.#journal.absorb();
          if (events.length === 0) return !leaves;
          if (leaves) return false;
        } else if (isAway(error) && clock() < deadline) {
          unanswered.push({ append, after });
          await sleep(pauseMs);
          if ((await this.#wasOurs(unanswered, events)) === true) return true;
        } else throw changedRequest(append, error) ?? error;
      }
    }
  }

  /** Calls that are frozen do not start: their events are replaced. `version`: what the starts were judged by. */
  async #judge(events: StoredEvent[], known: State | undefined) {
    const { run, store, clock } = this.#options;
    const book = bookOf(store);
    this.freezing.restore(events);
    const freeze = ({ freezes }: Frozen): boolean =>
      (freezes.length > 0 || events.some((event) => freezesIn(event).length > 0)) &&
      this.freezing.freeze(events, freezes, run, this.record.stateAfter(events, known));
    let frozen = book.known ?? (await book.read());
    let isFrozen = freeze(frozen);
    if (isFrozen) {
      // In this order: whoever lifts the freeze after that finds the run.
      await book.remember(run.id, clock());
      this.freezing.restore(events);
      frozen = await book.read();
      isFrozen = freeze(frozen);
    }
    if (isFrozen || this.#wasFrozen) this.#journal.changed();
    this.#wasFrozen = isFrozen;
    return { version: frozen.version, isFrozen };
  }

  #appendOf(
    events: readonly StoredEvent[],
    { version, hash, state: before }: Recorded,
    after: State,
    leaves: boolean,
    freezes: number | undefined,
  ) {
    const { run, leaseMs, limits, clock } = this.#options;
    const failed = events.findLast((event) => event.type === 'run-failed');
    const how = this.claim.howTo(leaves);
    return {
      runId: run.id,
      expectedVersion: version,
      ...(version === 0 && { create: this.created }),
      ...(freezes !== undefined && { freezes }),
      ...linkNew(hash, events as readonly [StoredEvent, ...StoredEvent[]]),
      ...project({ run, before, after, limits, now: clock(), settlements: this.#settlements, events }),
      // The run stays failed until someone drives it on.
      ...(failed && { status: 'failed', outcome: withUsage(failed.error, after) }),
      ...(how && { claim: { how, token: this.claim.token, leaseMs } }),
    } satisfies Append;
  }

  #appended(append: Append, after: State, claimed: boolean, asked: Moment): void {
    this.record.wrote(append, after);
    this.claim.appended(append.claim?.how, claimed, asked);
    this.#hasBegun = true;
    this.#journal.began();
    this.#options.onAppended(append, this.created);
  }

  /**
   * Whether one of these was written although the store failed. The hash chain tells, and the claim whether it may act. The first may
   * differ from the last, since what is frozen may have changed in between: the array becomes what was written.
   */
  async #wasOurs(attempts: readonly Attempt[], events: StoredEvent[]): Promise<boolean | 'unknown'> {
    try {
      let written: Attempt | undefined;
      for (const attempt of attempts) if (!written && (await this.record.has(attempt.append))) written = attempt;
      if (!written) return false;
      const { append, after } = written;
      if (this.freezing.adopt(events, append.events)) this.#journal.changed();
      const asked = this.claim.now();
      const { runId, claim } = append;
      const wants = claim !== undefined && claim.how !== 'release' && claim.how !== 'pass';
      const claimed = wants && (await this.#options.store.renew(runId, claim.token, claim.leaseMs));
      this.#appended(append, after, claimed, asked);
      // Another worker may have written the very same events at the same time: only one of them may act on them.
      if (wants && !claimed && claim.how !== 'take') this.#journal.fail(claimLapsed(runId));
      return true;
    } catch (error) {
      if (isAway(error)) return 'unknown';
      throw error;
    }
  }
}
