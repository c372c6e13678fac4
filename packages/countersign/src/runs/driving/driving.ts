// Driving stored runs in this process: under a claim that is renewed, with deadlines kept, and a clean stop.
import { messageOf, UsageError } from '../../core/errors.ts';
import type { RunEvent } from '../../core/event.ts';
import type { Limits } from '../../core/next.ts';
import { isThenable } from '../../core/options.ts';
import type { State } from '../../core/state.ts';
import { drive } from '../../loop/drive.ts';
import { callFailed, interrupted } from '../../loop/generate.ts';
import type { Driver, Run } from '../../loop/run.ts';
import { StoredRun } from '../../loop/stored-run.ts';
import type { Chunk } from '../../loop/stream/chunk.ts';
import type { Context, ToolDefinition } from '../../loop/tool/definition.ts';
import { onceDurable } from '../journal/buffer-until-durable.ts';
import { Journal } from '../journal/journal.ts';
import type { ClaimOption, JournalOptions } from '../journal/journal-options.ts';
import { fail } from '../journal/outcome.ts';
import { Renewals } from '../journal/renewals.ts';
import { readRun } from '../port/read-run.ts';
import type { RunLimit } from '../port/run-limit.ts';
import type { NewRun, Store } from '../port/store.ts';
import { isAway, isLost, isStale } from '../port/store-errors.ts';
import { StoreTime } from '../port/store-time.ts';
import { expireCards, fetchTimeIfExpired } from '../questions/expiry.ts';
import { errorIn, trustedState } from '../questions/view.ts';
import { Live, tellBoth } from './live-chunks.ts';
import { LateRecorder, type Stopped } from './record-late-result.ts';
import { type RunSummary, summaryOf } from './run-summary.ts';
import { StopGrace } from './stop-grace.ts';
import { leave, type StartedRun, TakeOver } from './take-over.ts';

/** The part of an agent that drives its runs. */
export type AgentPort = {
  readonly name: string;
  readonly limits: Limits;
  /** Called with each event that this process records. */
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
  driver(context: Context | undefined): Driver;
  tools(): ReadonlyMap<string, ToolDefinition>;
  defined(): ReadonlyMap<string, ToolDefinition>;
};

/** What driving a run in this process takes. */
export type DriveOptions = { readonly context?: Context; readonly onChunk?: (chunk: Chunk) => void };

export type DrivesOptions = {
  readonly store: Store;
  readonly agents: ReadonlyMap<string, AgentPort>;
  /** Looks up the context of a run that no caller drives. */
  readonly contextFor: (run: StartedRun) => Context | undefined | Promise<Context | undefined>;
  readonly newId: () => string;
  readonly clock: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly leaseMs: number;
  /** How long a stop waits for a model to reply. */
  readonly graceMs: number;
  readonly onAppended: JournalOptions['onAppended'];
  readonly runLimit: RunLimit;
};

/** `isLookedUp`: the context was looked up, even if there is none. */
type DrivingOptions = DriveOptions & { readonly isLookedUp?: true };

type OpenOptions = {
  readonly create?: NewRun;
  readonly onStale?: 'absorb' | 'fail';
  /** `take` unless given. */
  readonly claim?: ClaimOption;
  readonly emit?: ((chunk: Chunk) => void) | undefined;
};

/** The journal is cleared once the run pauses or ends: V8 may retain deleted map entries until a full collection. */
type Driven = { readonly rest: Promise<RunSummary | undefined>; journal: Journal | undefined };

export class Drives {
  readonly live = new Live();
  readonly #options: DrivesOptions;
  readonly #active = new Map<string, Driven>();
  /** Runs whose first append is not durable yet. */
  readonly #beginning = new Set<Promise<RunSummary | undefined>>();
  /** Runs that stopped in this turn of the event loop: the caller that began them asks next how they ended. */
  readonly #rested = new Map<string, Promise<RunSummary | undefined>>();
  readonly #renewals: Renewals;
  readonly #stopGrace = new StopGrace();
  readonly #takeOver: TakeOver<AgentPort>;
  readonly #late: LateRecorder<AgentPort>;
  readonly #time: StoreTime;
  /** The time of the store, as last known. */
  readonly clock: () => number;
  #stopping = false;
  #pauses = 0;
  readonly #isStopping = (): boolean => this.#stopping || this.#pauses > 0;
  /** The agents whose runs can be driven here. */
  readonly agents: ReadonlyMap<string, AgentPort>;
  readonly runLimit: RunLimit;
  /** Called when there is room for another run. */
  onFreed: (() => void) | undefined;

  constructor(options: DrivesOptions) {
    this.#options = options;
    this.agents = options.agents;
    this.runLimit = options.runLimit;
    this.#renewals = new Renewals(options.leaseMs);
    this.#takeOver = new TakeOver(this, this.#renewals, options);
    this.#late = new LateRecorder({
      ...options,
      isStopping: this.#isStopping,
      open: (run, state, agent, claim) => this.open(run, state, agent, { onStale: 'fail', ...claim }),
      goOn: (agent, run, journal) => this.driveOrLeave(agent, run, journal, {}),
    });
    this.#time = new StoreTime(options.store, options.clock);
    this.clock = this.#time.now;
  }

  /** Asks the store for its time if that was long ago: a wrong local clock must not decide what is too late. */
  refreshTime(): Promise<void> {
    return this.#time.tell();
  }

  /** Asks the store for its time now, for things that must not happen too early. */
  fetchTime(): Promise<void> {
    return this.#time.ask();
  }

  /** How many runs are being driven in this process. */
  get active(): number {
    return this.#active.size;
  }

  newRunId(): string {
    return `run_${this.#options.newId().replace(/^call_/, '')}`;
  }

  agent(name: string): AgentPort {
    const agent = this.agents.get(name);
    if (agent) return agent;
    const known = [...this.agents.keys()].join(', ') || 'none';
    throw new UsageError('unknown-agent', { agent: name }, `No agent ${name} is defined here. Defined are: ${known}.`);
  }

  /** Opens a recorded run with the journal for its next events. `emit` receives their chunks. */
  open(
    record: JournalOptions['run'],
    state: State,
    agent: AgentPort,
    { emit, ...how }: OpenOptions = {},
  ): { readonly run: Run; readonly journal: Journal } {
    const { store, newId, leaseMs, sleep, onAppended } = this.#options;
    const journal = new Journal({
      store,
      run: record,
      state,
      ...(how.create && { create: how.create }),
      newId,
      leaseMs,
      limits: agent.limits,
      clock: this.clock,
      sleep,
      onAppended,
      onStale: how.onStale ?? 'absorb',
      claim: how.claim ?? 'take',
    });
    const onEvent = agent.onEvent && onceDurable(agent.onEvent, how.onStale === 'fail' ? journal.begun : undefined);
    const run = new StoredRun(state, journal, { ...(emit && { emit }), ...(onEvent && { onEvent }) });
    journal.attach(run);
    return { run, journal };
  }

  /**
   * Takes the run over and drives it. Returns false if another worker holds it, or its agent is not defined here. A failed
   * run that `isDue` is driven only if one of its deadlines has passed, which then decides like a person.
   */
  take(runId: string, context?: Context, isDue = false): Promise<boolean> {
    return this.#takeOver.take(runId, context, isDue);
  }

  /** Drives the run in the background. `rested` resolves when it pauses or ends, `settled` when all runs do. */
  go(agent: AgentPort, run: Run, journal: Journal, options: DrivingOptions): void {
    this.#keep(journal, this.#rest(agent, run, journal, options));
  }

  /**
   * Drives the run before its first append: the events so far become durable together with what follows at once, such as
   * the start of a call. No body runs before that. Resolves once they are durable; rejects if they cannot be.
   */
  async begin(agent: AgentPort, run: Run, journal: Journal, options: DriveOptions): Promise<void> {
    if (this.isStopping) return this.driveOrLeave(agent, run, journal, options);
    const driving = this.#rest(agent, run, journal, options);
    this.#beginning.add(driving);
    try {
      await journal.begun;
      this.#keep(journal, driving);
    } finally {
      this.#beginning.delete(driving);
    }
  }

  async #rest(agent: AgentPort, run: Run, journal: Journal, options: DrivingOptions): Promise<RunSummary | undefined> {
    const failed = await this.#drive(agent, run, journal, options);
    return failed === undefined ? undefined : summaryOf(journal.runId, run.state, agent.limits, failed);
  }

  #keep(journal: Journal, driving: Promise<RunSummary | undefined>): void {
    const id = journal.runId;
    const driven: Driven = { journal, rest: driving };
    this.#active.set(id, driven);
    void driving.finally(() => {
      driven.journal = undefined;
      if (this.#active.get(id) === driven) this.#active.delete(id);
      this.#rested.set(id, driving);
      setImmediate(() => {
        if (this.#rested.get(id) === driving) this.#rested.delete(id);
      });
      this.onFreed?.();
    });
  }

  /** Drives the run, or hands it over if this process is stopping. */
  async driveOrLeave(agent: AgentPort, run: Run, journal: Journal, options: DriveOptions): Promise<void> {
    if (this.isStopping) await leave(run, journal);
    else this.go(agent, run, journal, options);
  }

  /** Checks now whether someone ended a run that is driven here. */
  look(runId: string): void {
    void this.#active.get(runId)?.journal?.look();
  }

  /** The result of driving the run here; undefined if this process does not drive it, or another worker took over. */
  rested(runId: string): Promise<RunSummary | undefined> | undefined {
    return this.driven(runId) ?? this.#rested.get(runId);
  }

  /** The same, but undefined as soon as the run pauses or ends. */
  driven(runId: string): Promise<RunSummary | undefined> | undefined {
    return this.#active.get(runId)?.rest;
  }

  /** This process drives the run and does not know of a takeover, even if it could not renew its claim lately. */
  holds(runId: string): boolean {
    return this.#active.get(runId)?.journal?.holds ?? false;
  }

  /** This process is stopping, or pausing its work. */
  get isStopping(): boolean {
    return this.#isStopping();
  }

  /** True if the run failed; undefined if others wrote first, so that the result here is not recorded. */
  async #drive(agent: AgentPort, run: Run, journal: Journal, options: DrivingOptions): Promise<boolean | undefined> {
    const { context, onChunk, isLookedUp } = options;
    const renewed = this.#renewals.add(journal);
    // In a variable first: V8 would otherwise retain the run until the next full collection.
    const late = (events: readonly RunEvent[]): void => {
      if (journal.hasBegun) void this.#late.tell(agent, journal.runId, journal.ownState, events);
    };
    run.onLate = late;
    const emit = tellBoth(
      onChunk,
      this.live.emitter(journal.runId, () => run.state.history.length),
    );
    try {
      const looking = context || isLookedUp ? context : this.#takeOver.contextOf(journal);
      // Without an await if there is no promise: events of one turn are written together.
      const given = isThenable(looking) ? await looking : looking;
      if (given === 'left') {
        await leave(run, journal);
        return false;
      }
      const driver: Driver = {
        ...agent.driver(given),
        ...(emit && { emit }),
        signal: journal.lost,
        clock: this.clock,
        worker: { isStopping: this.#isStopping, onGiveUp: this.#stopGrace.listen, onLeft: this.#late.left },
      };
      for (;;) {
        // If the time of the store is unknown, the deadlines are left to the next look.
        if (await this.#knowsTime(run, journal)) expireCards(run, journal, this.clock());
        await drive(run, driver).catch((error: unknown) => {
          throw interrupted(error, run);
        });
        const [failure] = run.failures;
        if (failure) throw callFailed(failure, run);
        const rest = await journal.finish(this.isStopping);
        if (rest === 'again') await this.#again(journal.runId, context);
        if (rest !== 'more') return false;
      }
    } catch (error) {
      const stopped = this.#stopped(agent, run, journal, context, error);
      // Finished calls are reported first.
      if (journal.lost.aborted && journal.hasBegun) this.#late.lost(journal.runId, journal.ownState);
      return stopped;
    } finally {
      this.#renewals.delete(renewed);
      run.close();
    }
  }

  /** Returns false if the store cannot be asked. */
  async #knowsTime({ state }: Run, { runId }: Journal): Promise<boolean> {
    try {
      if (!this.#time.isKnown) await this.#time.tell();
      await fetchTimeIfExpired(runId, state, this);
      return true;
    } catch {
      // The next write reports the failure.
      return false;
    }
  }

  async #stopped(
    agent: AgentPort,
    run: Run,
    journal: Journal,
    context: Context | undefined,
    error: unknown,
  ): Promise<boolean | undefined> {
    // The caller of `begin` gets the error.
    if (journal.neverBegan) return false;
    if (isLost(error)) {
      // Another worker took over and owns the state of the run, but results of tools still count.
      run.onLate?.(journal.unwritten);
      return undefined;
    }
    if (isStale(error)) {
      // The new events do not fit what others recorded first: read the run again.
      await this.#options.store.release(journal.runId, journal.token).catch(() => undefined);
      await this.#late.tell(agent, journal.runId, journal.ownState, journal.unwritten);
      await this.#again(journal.runId, context);
      return undefined;
    }
    const rest = journal.isRefused ? undefined : await fail(run, journal, error).catch((reason: unknown) => reason);
    // Others wrote first after all: results of calls are recorded as they would be without the error.
    if (isStale(rest) || isLost(rest)) return this.#stopped(agent, run, journal, context, rest);
    if (rest === 'again') await this.#again(journal.runId, context);
    // If that cannot be written either, only this process knows the results until a worker takes the run over.
    if (isAway(rest)) run.onLate?.(journal.unwritten);
    if (journal.isRefused) await this.#failAnew(agent, journal, error).catch(() => undefined);
    return true;
  }

  /** The store rejects the new events for good: record only the failure, on top of the stored run. */
  async #failAnew(agent: AgentPort, { runId, token }: Journal, error: unknown): Promise<void> {
    const { store } = this.#options;
    const loaded = await readRun(store, runId);
    if (!loaded) return;
    // A deadline that cannot be recorded is retried forever: record the same failure once.
    const isTold = loaded.run.status === 'failed' && errorIn(loaded.run)?.message === messageOf(error);
    if (isTold) return store.release(runId, token);
    const { run, journal } = this.open(loaded.run, await trustedState(loaded), agent, { claim: { held: token } });
    await fail(run, journal, error);
  }

  async #again(runId: string, context: Context | undefined): Promise<void> {
    // If that fails, a worker finds the run.
    await this.take(runId, context).catch(() => undefined);
  }

  /** Allows driving again after a stop. */
  work(): void {
    this.#stopping = false;
  }

  /** Takes over no more runs until `work` is called; driven runs continue to their next pause and are handed over. */
  async stop(): Promise<Stopped> {
    this.#stopping = true;
    return this.#comeToRest();
  }

  /** The same for a while: other workers of this process continue afterwards. */
  async pause(): Promise<Stopped> {
    this.#pauses += 1;
    return this.#comeToRest().finally(() => {
      this.#pauses -= 1;
    });
  }

  async #comeToRest(): Promise<Stopped> {
    this.#takeOver.leaveAll();
    const forget = this.#stopGrace.after(this.#options.graceMs, this.#isStopping);
    return this.#late.ended(this.settled()).finally(forget);
  }

  /** Resolves when this process drives no run and takes none over. */
  async settled(): Promise<void> {
    for (;;) {
      const driven = Array.from(this.#active.values(), ({ rest }) => rest);
      const all = [...driven, ...this.#beginning, ...this.#takeOver.underWay, ...this.#late.underWay];
      if (all.length === 0) return;
      // The callers get the errors.
      await Promise.allSettled(all);
    }
  }
}
