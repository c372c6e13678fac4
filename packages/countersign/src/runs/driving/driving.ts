// Driving stored runs in this process: under a claim that is renewed, with deadlines kept, and a clean stop.

import { messageOf, UsageError } from '../../core/errors.ts';
import { defined } from '../../core/json.ts';
import { isThenable } from '../../core/options.ts';
import { hostUntil } from '../../core/run/call.ts';
import { isDrill } from '../../core/run/drill.ts';
import type { RunEvent } from '../../core/run/event.ts';
import { GATE } from '../../core/run/gate-name.ts';
import type { Limits } from '../../core/run/next.ts';
import type { State } from '../../core/run/state.ts';
import { settleDoubt } from '../../loop/call/doubt.ts';
import { drive } from '../../loop/drive.ts';
import { callFailed, interrupted } from '../../loop/generate.ts';
import type { Caller, Driver, Run } from '../../loop/run.ts';
import type { RunGrants } from '../../loop/sink.ts';
import { StoredRun } from '../../loop/stored-run.ts';
import { grantsOf } from '../grants/use.ts';
import { onceDurable } from '../journal/buffer-until-durable.ts';
import { Journal, type JournalOptions, type Recorded } from '../journal/journal.ts';
import { fail } from '../journal/outcome.ts';
import { Renewals } from '../journal/renewals.ts';
import type { Directory } from '../people.ts';
import { readRun } from '../port/read-run.ts';
import type { RunLimit } from '../port/run-limit.ts';
import type { Store } from '../port/store.ts';
import { isAway, isLost, isStale } from '../port/store-errors.ts';
import { StoreTime } from '../port/store-time.ts';
import { expireCards, fetchTimeIfExpired } from '../requests/expiry.ts';
import { askerOf } from '../requests/rejudge.ts';
import { errorIn, trustedState } from '../requests/view.ts';
import { Live } from './live-chunks.ts';
import type { AgentPort, DriveOptions, DrivesOptions, Driving, OpenOptions, OpenRun } from './open-run.ts';
import { LateRecorder, type Stopped } from './record-late-result.ts';
import { recordedAgent } from './recorded-agent.ts';
import { type RunSummary, summaryOf } from './run-summary.ts';
import { StopGrace } from './stop-grace.ts';
import { leave, TakeOver } from './take-over.ts';

/** The journal is cleared once the run pauses or ends: V8 may retain deleted map entries until a full collection. */
type Driven = { readonly rest: Promise<RunSummary | undefined>; journal: Journal | undefined };

export class Drives implements Driving {
  readonly live = new Live();
  readonly store: Store;
  readonly #options: DrivesOptions;
  readonly #active = new Map<string, Driven>();
  /** Runs whose first append is not durable yet. */
  readonly #beginning = new Set<Promise<RunSummary | undefined>>();
  /** Runs that stopped in this turn of the event loop: the caller that began them asks next how they ended. */
  readonly #rested = new Map<string, Promise<RunSummary | undefined>>();
  readonly #renewals: Renewals;
  readonly #stopGrace = new StopGrace();
  readonly #takeOver: TakeOver;
  readonly #late: LateRecorder;
  readonly time: StoreTime;
  readonly clock: () => number;
  #stopping = false;
  #pauses = 0;
  readonly #isStopping = (): boolean => this.#stopping || this.#pauses > 0;
  /** The agents whose runs can be driven here. */
  readonly agents: ReadonlyMap<string, AgentPort>;
  readonly runLimit: RunLimit;
  readonly people: Directory;
  /** Called when there is room for another run. */
  onFreed: (() => void) | undefined;

  constructor(options: DrivesOptions) {
    this.#options = options;
    this.store = options.store;
    this.agents = options.agents;
    this.runLimit = options.runLimit;
    this.people = options.people;
    this.#renewals = new Renewals(options.leaseMs);
    this.#takeOver = new TakeOver(this, this.#renewals, options);
    this.#late = new LateRecorder(this, options.sleep);
    this.time = new StoreTime(options.store, options.clock);
    this.clock = this.time.now;
  }

  /** How many runs are being driven in this process. */
  get active(): number {
    return this.#active.size;
  }

  newRunId(): string {
    return `run_${this.#options.newId().replace(/^call_/, '')}`;
  }

  /** The agent of a run. `state` is that of the run. What drives nothing does not need the agent: the record is enough. */
  agent(name: string, state?: State, { drive = true }: { readonly drive?: boolean } = {}): AgentPort {
    const agent = this.agents.get(name);
    if (agent) return (state && agent.forRun?.(state)) ?? agent;
    // Any process can take a decision on a call from outside: it runs nothing.
    const outside = state?.outside && this.agents.get(GATE)?.forRun?.(state);
    if (outside) return { ...outside, name };
    if (state && !drive) return recordedAgent(name, state);
    const isShown = ([agent, { forRun }]: [string, AgentPort]) => !isDrill({ agent }) && !forRun;
    const known =
      [...this.agents]
        .filter(isShown)
        .map(([agent]) => agent)
        .join(', ') || 'none';
    throw new UsageError('unknown-agent', { agent: name }, `No agent ${name} is defined here. Defined are: ${known}.`);
  }

  /** Opens a recorded run for writing. Its listener receives only durable events. */
  open(
    record: JournalOptions['run'],
    state: State,
    agent: AgentPort,
    { claim = 'take', context, onChunk, caller }: OpenOptions = {},
  ): OpenRun {
    const limits = limitsOf(agent, caller);
    const journal = new Journal({ ...this.#options, run: record, state, limits, clock: this.clock, claim });
    const onEvent = agent.onEvent && onceDurable(agent.onEvent, journal.begun);
    const emit = onChunk && onceDurable(onChunk, journal.begun);
    const run = new StoredRun(state, journal, { ...(emit && { emit }), ...(onEvent && { onEvent }) });
    journal.attach(run);
    return { agent, run, journal, options: { ...defined({ context, caller }), ...(emit && { onChunk: emit }) } };
  }

  /** Takes the run over and drives it, or returns false. A failed run that `isDue` is driven only if a deadline has passed. */
  take(runId: string, options: Pick<DriveOptions, 'context' | 'caller'> = {}, isDue = false): Promise<boolean> {
    return this.#takeOver.take(runId, options, isDue);
  }

  /** Drives the run in the background. `rested` resolves when it pauses or ends, `settled` when all runs do. */
  go(open: OpenRun): void {
    this.#keep(open.journal, this.#rest(open));
  }

  /** Drives the run at once. Resolves once its events so far are durable, with what follows at once; no body runs before that. */
  async begin(open: OpenRun): Promise<void> {
    if (this.isStopping) return leave(open);
    const driving = this.#rest(open);
    this.#beginning.add(driving);
    try {
      await open.journal.begun;
      this.#keep(open.journal, driving);
    } finally {
      this.#beginning.delete(driving);
    }
  }

  async #rest(open: OpenRun): Promise<RunSummary | undefined> {
    const failed = await this.#drive(open);
    const { agent, run, journal, options } = open;
    if (failed === undefined) return undefined;
    return summaryOf(journal.runId, run.state, limitsOf(agent, options.caller), failed);
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
  async driveOrLeave(open: OpenRun): Promise<void> {
    if (this.isStopping) await leave(open);
    else this.go(open);
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
  async #drive(open: OpenRun): Promise<boolean | undefined> {
    const { agent, run, journal } = open;
    const { context, onChunk, isLookedUp, caller } = open.options;
    const renewed = this.#renewals.add(journal);
    // In a variable first: V8 would otherwise retain the run until the next full collection.
    const late = (events: readonly RunEvent[]): void => {
      if (journal.hasBegun) void this.#late.tell(agent, journal.runId, journal.own, events);
    };
    run.onLate = late;
    const emit = this.live.emitter(journal.runId, () => run.state.history.length, onChunk);
    try {
      const looking = context || isLookedUp ? context : this.#takeOver.contextOf(journal);
      // Without an await unless it returns a promise: events of one turn are written together.
      const given = isThenable(looking) ? await looking : looking;
      if (given === 'left') {
        await leave(open);
        return false;
      }
      const driver: Driver = {
        ...agent.driver(given),
        ...defined({ emit, caller }),
        limits: limitsOf(agent, caller),
        signal: journal.lost,
        clock: this.clock,
        // A drill is asked about even if a grant would let the call run.
        ...(!isDrill(journal.started) && { grants: this.#grantsFor(journal) }),
        asker: askerOf(journal.started),
        worker: { isStopping: this.#isStopping, onGiveUp: this.#stopGrace.listen, onLeft: this.#late.left },
      };
      for (;;) {
        // If the time of the store is unknown, the deadlines are left to the next look.
        const knowsTime = await this.#knowsTime(open);
        if (knowsTime) expireCards(run, journal, this.clock());
        const driving = knowsTime ? settleLapsed(run, driver).then(() => drive(run, driver)) : drive(run, driver);
        await driving.catch((error: unknown) => {
          throw interrupted(error, run);
        });
        const [failure] = run.failures;
        if (failure) throw callFailed(failure, run);
        const rest = await journal.finish(this.isStopping);
        if (rest === 'again') await this.#again(open);
        if (rest !== 'more') return false;
      }
    } catch (error) {
      const stopped = this.#stopped(open, error);
      // Finished calls are reported first.
      if (journal.lost.aborted && journal.hasBegun) this.#late.lost(journal.runId, journal.own);
      return stopped;
    } finally {
      this.#renewals.delete(renewed);
      run.close();
    }
  }

  #grantsFor(journal: Journal): RunGrants {
    const { store, clock } = this;
    const withNext: Journal['withNext'] = (lookUp) => journal.withNext(lookUp);
    return grantsOf({ store, clock, run: journal.started, withNext, flushed: () => journal.flushed() });
  }

  /** Returns false if the store cannot be asked. */
  async #knowsTime({ run, journal }: OpenRun): Promise<boolean> {
    try {
      await this.time.tell();
      await fetchTimeIfExpired(journal.runId, run.state, this.time);
      return true;
    } catch {
      // The next write reports the failure.
      return false;
    }
  }

  async #stopped(open: OpenRun, error: unknown): Promise<boolean | undefined> {
    const { agent, run, journal } = open;
    // The caller of `begin` gets the error.
    if (journal.neverBegan) return false;
    if (isLost(error)) {
      // Another worker took over and owns the state of the run, but results of tools still count.
      run.onLate?.(journal.unwritten);
      return undefined;
    }
    if (isStale(error)) {
      // The new events do not fit what others recorded first: read the run again.
      await this.store.release(journal.runId, journal.token).catch(() => undefined);
      await this.#late.tell(agent, journal.runId, journal.own, journal.unwritten);
      await this.#again(open);
      return undefined;
    }
    const rest = journal.isRefused ? undefined : await fail(run, journal, error).catch((reason: unknown) => reason);
    // Others wrote first after all: results of calls are recorded as they would be without the error.
    if (isStale(rest) || isLost(rest)) return this.#stopped(open, rest);
    if (rest === 'again') await this.#again(open);
    // If that cannot be written either, only this process knows the results until a worker takes the run over.
    if (isAway(rest)) run.onLate?.(journal.unwritten);
    if (journal.isRefused) await this.#failAnew(agent, journal, error).catch(() => undefined);
    return true;
  }

  /** The store rejects the new events for good: record only the failure, on top of the stored run. */
  async #failAnew(agent: AgentPort, { runId, token }: Journal, error: unknown): Promise<void> {
    const loaded = await readRun(this.store, runId);
    if (!loaded) return;
    // A deadline that cannot be recorded is retried forever: record the same failure once.
    const isTold = loaded.run.status === 'failed' && errorIn(loaded.run)?.message === messageOf(error);
    if (isTold) return this.store.release(runId, token);
    const { run, journal } = this.open(loaded.run, await trustedState(loaded), agent, { claim: { held: token } });
    await fail(run, journal, error);
  }

  async #again({ journal, options }: OpenRun): Promise<void> {
    // If that fails, a worker finds the run.
    await this.take(journal.runId, options).catch(() => undefined);
  }

  /** Records the result of a call that a program outside has run. */
  report(agent: AgentPort, runId: string, own: Recorded, settled: RunEvent): Promise<void> {
    return this.#late.tell(agent, runId, own, [settled]);
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

/** Only while its caller asks does the call of an outside program run. */
function limitsOf({ limits }: AgentPort, caller: Caller | undefined): Limits {
  return caller ? { ...limits, awaitCaller: false } : limits;
}

/** A program outside was granted a start and has not reported in time: the outcome of its call is unknown. */
async function settleLapsed(run: Run, driver: Driver): Promise<void> {
  for (const call of run.state.turn?.calls ?? []) {
    const until = hostUntil(call);
    if (until !== undefined && until <= driver.clock()) await settleDoubt(run, driver, call);
  }
}
