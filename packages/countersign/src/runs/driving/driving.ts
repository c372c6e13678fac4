// Driving stored runs in this process: under a claim that is renewed, with deadlines kept, and a clean stop.

import { UsageError } from '../../core/errors.ts';
import { defined } from '../../core/json.ts';
import { isDrill } from '../../core/run/drill.ts';
import type { RunEvent } from '../../core/run/event.ts';
import { GATE } from '../../core/run/gate-name.ts';
import type { State } from '../../core/run/state.ts';
import { StoredRun } from '../../loop/stored-run.ts';
import type { JournalOptions } from '../journal/appending.ts';
import { onceDurable } from '../journal/buffer-until-durable.ts';
import { Journal } from '../journal/journal.ts';
import type { Recorded } from '../journal/record.ts';
import { Renewals } from '../journal/renewals.ts';
import type { Directory } from '../people.ts';
import type { RunLimit } from '../port/run-limit.ts';
import type { Store } from '../port/store.ts';
import { StoreTime } from '../port/store-time.ts';
import { Live } from './live-chunks.ts';
import type { AgentPort, DriveOptions, DrivesOptions, Driving, OpenOptions, OpenRun } from './open-run.ts';
import { LateRecorder, type Stopped } from './record-late-result.ts';
import { recordedAgent } from './recorded-agent.ts';
import { limitsOf, RunDriver } from './run-driver.ts';
import type { RunSummary } from './run-summary.ts';
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
  readonly #stopGrace = new StopGrace();
  readonly #takeOver: TakeOver;
  readonly #late: LateRecorder;
  readonly #driver: RunDriver;
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
    const renewals = new Renewals(options.leaseMs);
    this.#takeOver = new TakeOver(this, renewals, options);
    this.#late = new LateRecorder(this, options.sleep);
    const [takeOver, late, stopGrace] = [this.#takeOver, this.#late, this.#stopGrace];
    this.#driver = new RunDriver(this, { live: this.live, renewals, takeOver, late, stopGrace });
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
    const clocks = { clock: this.clock, processClock: this.#options.clock };
    const journal = new Journal({ ...this.#options, ...clocks, run: record, state, limits, claim });
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
    this.#keep(open.journal, this.#driver.drive(open));
  }

  /** Drives the run at once. Resolves once its events so far are durable, with what follows at once; no body runs before that. */
  async begin(open: OpenRun): Promise<void> {
    if (this.isStopping) return leave(open);
    const driving = this.#driver.drive(open);
    this.#beginning.add(driving);
    try {
      await open.journal.begun;
      this.#keep(open.journal, driving);
    } finally {
      this.#beginning.delete(driving);
    }
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
