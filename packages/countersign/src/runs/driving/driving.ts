// Driving stored runs in this process: under a claim that is renewed, with deadlines kept, and a clean stop.
import { messageOf, UsageError } from '../../core/errors.ts';
import type { RunEvent } from '../../core/event.ts';
import type { Limits } from '../../core/next.ts';
import type { State } from '../../core/state.ts';
import { drive } from '../../loop/drive.ts';
import { callFailed, interrupted } from '../../loop/generate.ts';
import { isThenable } from '../../loop/options.ts';
import type { Driver, Run } from '../../loop/run.ts';
import { StoredRun } from '../../loop/stored-run.ts';
import type { Chunk } from '../../loop/stream/chunk.ts';
import type { Context, ToolDefinition } from '../../loop/tool/definition.ts';
import { listening } from '../journal/buffer-until-durable.ts';
import { Journal } from '../journal/journal.ts';
import type { ClaimOption, JournalOptions } from '../journal/journal-options.ts';
import { fail } from '../journal/outcome.ts';
import { Renewals } from '../journal/renewals.ts';
import type { RunLimit } from '../port/run-limit.ts';
import type { NewRun, Store } from '../port/store.ts';
import { isAway, isLost, isStale } from '../port/store-errors.ts';
import { StoreTime } from '../port/store-time.ts';
import { askIfOver, expireCards } from '../questions/expiry.ts';
import { errorIn, trustedState } from '../questions/view.ts';
import { Live, tellBoth } from './live-chunks.ts';
import { type Stopped, TellingLate } from './record-late-result.ts';
import { type Rest, restOf } from './run-summary.ts';
import { GivingUp } from './stop-grace.ts';
import { leave, type StartedRun, TakingUp } from './take-over.ts';

/** What is needed of an agent to drive its runs. */
export type AgentPort = {
  readonly name: string;
  readonly limits: Limits;
  /** Hears of what is recorded by this process. */
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
  /** The context of runs that are taken up without a caller. */
  readonly contextFor: (run: StartedRun) => Context | undefined | Promise<Context | undefined>;
  readonly newId: () => string;
  readonly clock: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly leaseMs: number;
  /** How long a stop waits for models. */
  readonly graceMs: number;
  readonly onAppended: JournalOptions['onAppended'];
  readonly runLimit: RunLimit;
};

/** `isLookedUp`: where there is no context, there is none. */
type Given = DriveOptions & { readonly isLookedUp?: true };

type OpenOptions = {
  readonly create?: NewRun;
  readonly onStale?: 'absorb' | 'fail';
  /** `take` unless given. */
  readonly claim?: ClaimOption;
  readonly emit?: ((chunk: Chunk) => void) | undefined;
};

/** Empty once the run rests: V8 may keep what a map once had until the next full collection. */
type Driven = { readonly rest: Promise<Rest | undefined>; journal: Journal | undefined };

export class Drives {
  readonly live = new Live();
  readonly #options: DrivesOptions;
  readonly #active = new Map<string, Driven>();
  /** Those of which nothing is on record yet. */
  readonly #beginning = new Set<Promise<Rest | undefined>>();
  /** Those that came to rest in this turn of the event loop: whoever waited for their begin asks next how they rest. */
  readonly #rested = new Map<string, Promise<Rest | undefined>>();
  readonly #renewals: Renewals;
  readonly #givingUp = new GivingUp();
  readonly #takingUp: TakingUp<AgentPort>;
  readonly #late: TellingLate<AgentPort>;
  readonly #time: StoreTime;
  /** The time of the store, as far as it was asked lately. */
  readonly clock: () => number;
  #stopping = false;
  #pauses = 0;
  readonly #isStopping = (): boolean => this.#stopping || this.#pauses > 0;
  /** Those whose runs can be driven here. */
  readonly agents: ReadonlyMap<string, AgentPort>;
  readonly runLimit: RunLimit;
  /** Called when there is room for another run. */
  onFreed: (() => void) | undefined;

  constructor(options: DrivesOptions) {
    this.#options = options;
    this.agents = options.agents;
    this.runLimit = options.runLimit;
    this.#renewals = new Renewals(options.leaseMs);
    this.#takingUp = new TakingUp(this, this.#renewals, options);
    this.#late = new TellingLate({
      ...options,
      isStopping: this.#isStopping,
      open: (run, state, agent, claim) => this.open(run, state, agent, { onStale: 'fail', ...claim }),
      goOn: (agent, run, journal) => this.goOrLeave(agent, run, journal, {}),
    });
    this.#time = new StoreTime(options.store, options.clock);
    this.clock = this.#time.now;
  }

  /** Asks the store for its time, now and then; a clock that is off must not decide what is too late. */
  tellTime(): Promise<void> {
    return this.#time.tell();
  }

  /** For what must not happen too early. */
  askTime(): Promise<void> {
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

  /** A run as it is on record, with the journal that takes what is recorded next; `emit` hears of it. */
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
    const onEvent = agent.onEvent && listening(agent.onEvent, how.onStale === 'fail' ? journal.begun : undefined);
    const run = new StoredRun(state, journal, { ...(emit && { emit }), ...(onEvent && { onEvent }) });
    journal.attach(run);
    return { run, journal };
  }

  /**
   * Takes the run over if nobody holds it, and drives it. False if somebody does, or its agent is not known here. One that
   * failed and `isDue` is driven only if a deadline in it has passed: that decides, as a person would.
   */
  take(runId: string, context?: Context, isDue = false): Promise<boolean> {
    return this.#takingUp.take(runId, context, isDue);
  }

  /** Drives on in the background; `rested` tells when the run has come to rest, `settled` when all have. */
  go(agent: AgentPort, run: Run, journal: Journal, options: Given): void {
    this.#keep(journal, this.#rest(agent, run, journal, options));
  }

  /**
   * Drives on before anything is on record: what was recorded so far becomes durable together with what comes of it at
   * once, such as the start of a call. No body runs before that. Resolves once it is durable; rejects if it cannot be.
   */
  async begin(agent: AgentPort, run: Run, journal: Journal, options: DriveOptions): Promise<void> {
    if (this.isStopping) return this.goOrLeave(agent, run, journal, options);
    const driving = this.#rest(agent, run, journal, options);
    this.#beginning.add(driving);
    try {
      await journal.begun;
      this.#keep(journal, driving);
    } finally {
      this.#beginning.delete(driving);
    }
  }

  async #rest(agent: AgentPort, run: Run, journal: Journal, options: Given): Promise<Rest | undefined> {
    const failed = await this.#drive(agent, run, journal, options);
    return failed === undefined ? undefined : restOf(journal.runId, run.state, agent.limits, failed);
  }

  #keep(journal: Journal, driving: Promise<Rest | undefined>): void {
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

  /** Drives on, or leaves the run to another where this process is being stopped. */
  async goOrLeave(agent: AgentPort, run: Run, journal: Journal, options: DriveOptions): Promise<void> {
    if (this.isStopping) await leave(run, journal);
    else this.go(agent, run, journal, options);
  }

  /** Looks at once whether somebody ended a run that is driven here. */
  look(runId: string): void {
    void this.#active.get(runId)?.journal?.look();
  }

  /** How the run stands once this process rests with it; undefined if it does not drive it, or has lost it by then. */
  rested(runId: string): Promise<Rest | undefined> | undefined {
    return this.driven(runId) ?? this.#rested.get(runId);
  }

  /** The same, but undefined as soon as the run rests. */
  driven(runId: string): Promise<Rest | undefined> | undefined {
    return this.#active.get(runId)?.rest;
  }

  /** This process drives the run and has not been told that it lost it, however long ago it could renew its claim. */
  holds(runId: string): boolean {
    return this.#active.get(runId)?.journal?.holds ?? false;
  }

  /** Nothing is driven here any more, or for now. */
  get isStopping(): boolean {
    return this.#isStopping();
  }

  /** True if the run stopped for an error; undefined if others were first: what came of it here is not on record. */
  async #drive(agent: AgentPort, run: Run, journal: Journal, options: Given): Promise<boolean | undefined> {
    const { context, onChunk, isLookedUp } = options;
    const renewed = this.#renewals.add(journal);
    // Not straight into the property: V8 would keep it, and with it the run, until the next full collection.
    const late = (events: readonly RunEvent[]): void => {
      if (journal.hasBegun) void this.#late.tell(agent, journal.runId, journal.ownState, events);
    };
    run.onLate = late;
    const emit = tellBoth(
      onChunk,
      this.live.emitter(journal.runId, () => run.state.history.length),
    );
    try {
      const looking = context || isLookedUp ? context : this.#takingUp.contextOf(journal);
      // Without a pause where there is none: what happens at once is written together.
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
        worker: { isStopping: this.#isStopping, onGiveUp: this.#givingUp.listen, onLeft: this.#late.left },
      };
      for (;;) {
        // What cannot be known to be too late is left to whoever looks next.
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
      // What has come to an end is told first.
      if (journal.lost.aborted && journal.hasBegun) this.#late.lost(journal.runId, journal.ownState);
      return stopped;
    } finally {
      this.#renewals.delete(renewed);
      run.close();
    }
  }

  /** False if the store cannot be asked. */
  async #knowsTime({ state }: Run, { runId }: Journal): Promise<boolean> {
    try {
      if (!this.#time.isKnown) await this.#time.tell();
      await askIfOver(runId, state, this);
      return true;
    } catch {
      // Whoever writes next is told of it.
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
    // Whoever wanted it begun hears of it.
    if (journal.neverBegan) return false;
    if (isLost(error)) {
      // Taken over by another: it is not ours to say how the run stands, but what a tool has come to is the truth.
      run.onLate?.(journal.unwritten);
      return undefined;
    }
    if (isStale(error)) {
      // What was about to be recorded does not fit what others recorded first: look at the run anew.
      await this.#options.store.release(journal.runId, journal.token).catch(() => undefined);
      await this.#late.tell(agent, journal.runId, journal.ownState, journal.unwritten);
      await this.#again(journal.runId, context);
      return undefined;
    }
    const rest = journal.isRefused ? undefined : await fail(run, journal, error).catch((reason: unknown) => reason);
    // Others were first all the same: what came of the calls is told as it would have been without the error.
    if (isStale(rest) || isLost(rest)) return this.#stopped(agent, run, journal, context, rest);
    if (rest === 'again') await this.#again(journal.runId, context);
    // Where even that cannot be written, what the calls came to is known here alone until a worker takes the run up.
    if (isAway(rest)) run.onLate?.(journal.unwritten);
    if (journal.isRefused) await this.#failAnew(agent, journal, error).catch(() => undefined);
    return true;
  }

  /** What was to be recorded will never be taken: only that it failed is, from what is on record. */
  async #failAnew(agent: AgentPort, { runId, token }: Journal, error: unknown): Promise<void> {
    const { store } = this.#options;
    const loaded = await store.read(runId);
    if (!loaded) return;
    // A deadline that cannot be recorded is tried again and again, and the record would grow with each time.
    const isTold = loaded.run.status === 'failed' && errorIn(loaded.run)?.message === messageOf(error);
    if (isTold) return store.release(runId, token);
    const { run, journal } = this.open(loaded.run, trustedState(loaded), agent, { claim: { held: token } });
    await fail(run, journal, error);
  }

  async #again(runId: string, context: Context | undefined): Promise<void> {
    // If that fails, whoever looks for work finds it.
    await this.take(runId, context).catch(() => undefined);
  }

  /** Runs are driven again after a stop. */
  work(): void {
    this.#stopping = false;
  }

  /** Nothing is taken up any more, until somebody works again; what runs comes to its next rest and is handed over. */
  async stop(): Promise<Stopped> {
    this.#stopping = true;
    return this.#comeToRest();
  }

  /** The same for a while: whoever else works in this process goes on afterwards. */
  async pause(): Promise<Stopped> {
    this.#pauses += 1;
    return this.#comeToRest().finally(() => {
      this.#pauses -= 1;
    });
  }

  async #comeToRest(): Promise<Stopped> {
    this.#takingUp.leaveAll();
    const forget = this.#givingUp.after(this.#options.graceMs, this.#isStopping);
    return this.#late.ended(this.settled()).finally(forget);
  }

  /** Resolves when nothing is being driven, or taken up, in this process. */
  async settled(): Promise<void> {
    for (;;) {
      const driven = Array.from(this.#active.values(), ({ rest }) => rest);
      const all = [...driven, ...this.#beginning, ...this.#takingUp.underWay, ...this.#late.underWay];
      if (all.length === 0) return;
      // What cannot be taken up is told to whoever wanted it.
      await Promise.allSettled(all);
    }
  }
}
