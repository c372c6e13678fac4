// Driving stored runs in this process: under a claim that is renewed, with deadlines kept, and a clean stop.
import { ConflictError, UsageError } from '../core/errors.ts';
import { event, type RunEvent } from '../core/event.ts';
import { textOf } from '../core/message.ts';
import type { Limits } from '../core/next.ts';
import type { State } from '../core/state.ts';
import { drive } from '../loop/drive.ts';
import { applyDecisions } from '../loop/resume.ts';
import { type Driver, Run } from '../loop/run.ts';
import type { Context, ToolDefinition } from '../loop/tool.ts';
import { interruptKey, pendingCards } from './card.ts';
import { checkChain } from './chain.ts';
import { Journal, type JournalOptions } from './journal.ts';
import { errorOutcome } from './outcome.ts';
import { statusOf } from './projection.ts';
import type { NewRun, RunRecord, RunStatus, Store } from './store.ts';
import { stateOf } from './view.ts';

/** What is needed of an agent to drive its runs. */
export type AgentPort = {
  readonly name: string;
  readonly limits: Limits;
  driver(context: Context | undefined): Driver;
  tools(): ReadonlyMap<string, ToolDefinition>;
  defined(): ReadonlyMap<string, ToolDefinition>;
};

export type DrivesOptions = {
  readonly store: Store;
  readonly agents: ReadonlyMap<string, AgentPort>;
  /** The context of runs that are taken up without a caller. */
  readonly contextFor: (run: RunRecord) => Context | undefined;
  readonly newId: () => string;
  readonly clock: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly leaseMs: number;
};

/** How a run stands when this process rests with it. */
export type Rest = {
  readonly id: string;
  readonly status: RunStatus;
  readonly text: string;
  /** The ids of the questions that wait. */
  readonly pending: readonly string[];
};

function restOf(id: string, state: State, agent: AgentPort, failed: boolean): Rest {
  const said = state.turn?.content ?? state.history.last?.content ?? [];
  const status = failed ? 'failed' : statusOf(state, agent.limits);
  return { id, status, text: textOf(said), pending: [...pendingCards(id, state).keys()] };
}

export class Drives {
  readonly #options: DrivesOptions;
  readonly #active = new Map<string, Promise<Rest>>();
  #stopping = false;
  /** Called when there is room for another run. */
  onFreed: (() => void) | undefined;

  constructor(options: DrivesOptions) {
    this.#options = options;
  }

  get clock(): () => number {
    return this.#options.clock;
  }

  /** How many runs are being driven in this process. */
  get active(): number {
    return this.#active.size;
  }

  newRunId(): string {
    return `run_${this.#options.newId().replace(/^call_/, '')}`;
  }

  agent(name: string): AgentPort {
    const agent = this.#options.agents.get(name);
    if (agent) return agent;
    const known = [...this.#options.agents.keys()].join(', ') || 'none';
    throw new UsageError('unknown-agent', { agent: name }, `No agent ${name} is defined here. Defined are: ${known}.`);
  }

  journal(
    run: JournalOptions['run'],
    state: State,
    agent: AgentPort,
    how: { readonly create?: NewRun; readonly onStale?: 'absorb' | 'fail'; readonly held?: string },
  ): Journal {
    const { store, newId, leaseMs, clock, sleep } = this.#options;
    return new Journal({
      store,
      run,
      state,
      ...(how.create && { create: how.create }),
      token: how.held ?? newId(),
      leaseMs,
      limits: agent.limits,
      clock,
      sleep,
      onStale: how.onStale ?? 'absorb',
      claim: how.held === undefined ? 'take' : 'hold',
    });
  }

  /** Takes the run over if nobody holds it, and drives it. False if somebody does, or its agent is not known here. */
  async take(runId: string, context?: Context): Promise<boolean> {
    const { store, newId, leaseMs, agents } = this.#options;
    const token = newId();
    const loaded = await store.claim(runId, token, leaseMs);
    if (!loaded) return false;
    const agent = agents.get(loaded.run.agent);
    if (!agent) {
      await store.release(runId, token);
      return false;
    }
    try {
      checkChain(loaded);
    } catch (error) {
      await store.release(runId, token);
      throw error;
    }
    const state = stateOf(loaded.events);
    const journal = this.journal(loaded.run, state, agent, { held: token });
    const run = new Run(state, { sink: journal });
    journal.attach(run);
    // The store said that a deadline has come: it is its clock that counts.
    const now = loaded.run.wakeAt === null ? undefined : await store.now();
    this.go(agent, run, journal, context ?? this.#options.contextFor(loaded.run), now);
    return true;
  }

  /** Drives on in the background; `rested` tells when the run has come to rest, `settled` when all have. */
  go(agent: AgentPort, run: Run, journal: Journal, context: Context | undefined, now?: number): void {
    const id = journal.runId;
    const driving = this.#drive(agent, run, journal, context, now)
      .then((failed) => restOf(id, run.state, agent, failed))
      .finally(() => {
        if (this.#active.get(id) === driving) this.#active.delete(id);
        this.onFreed?.();
      });
    this.#active.set(id, driving);
  }

  /** Drives on, or leaves the run to another where this process is being stopped. */
  async goOrLeave(agent: AgentPort, run: Run, journal: Journal, context: Context | undefined): Promise<void> {
    if (!this.#stopping) return this.go(agent, run, journal, context);
    await journal.finish();
    run.close();
  }

  /** How the run stands once this process rests with it; undefined if it does not drive it. */
  rested(runId: string): Promise<Rest> | undefined {
    return this.#active.get(runId);
  }

  /** True if the run stopped for an error. */
  async #drive(
    agent: AgentPort,
    run: Run,
    journal: Journal,
    context: Context | undefined,
    now: number | undefined,
  ): Promise<boolean> {
    const renewal = setInterval(() => void journal.renew(), Math.max(10, this.#options.leaseMs / 3));
    run.onLate = (events) => void this.#late(agent, journal.runId, events).catch(() => undefined);
    try {
      const driver: Driver = {
        ...agent.driver(context),
        signal: journal.lost,
        clock: this.#options.clock,
        stopping: () => this.#stopping,
      };
      for (;;) {
        this.#expire(run, journal, now ?? this.#options.clock());
        now = undefined;
        await drive(run, driver);
        const [failure] = run.failures;
        if (failure) throw failure.error;
        const rest = await journal.finish();
        if (rest === 'again') await this.#again(journal.runId, context);
        if (rest !== 'more') return false;
      }
    } catch (error) {
      return this.#stopped(run, journal, context, error);
    } finally {
      clearInterval(renewal);
      run.close();
    }
  }

  async #stopped(run: Run, journal: Journal, context: Context | undefined, error: unknown): Promise<boolean> {
    const conflict = error instanceof ConflictError ? error.code : undefined;
    if (conflict === 'claim-lost') {
      // Taken over by another: it is not ours to say how the run stands, but what a tool has come to is the truth.
      run.onLate?.(journal.unwritten);
      return false;
    }
    if (conflict === 'stale-version') {
      // What was about to be recorded does not fit what others recorded first: look at the run anew.
      await this.#options.store.release(journal.runId, journal.token).catch(() => undefined);
      await this.#again(journal.runId, context);
      return false;
    }
    const failure = errorOutcome(error);
    run.record(event({ type: 'run-failed', error: failure }));
    // Where even that cannot be written, the claim lapses and a worker takes the run up.
    await journal.finish({ status: 'failed', outcome: failure }).catch(() => undefined);
    return true;
  }

  async #again(runId: string, context: Context | undefined): Promise<void> {
    try {
      await this.take(runId, context);
    } catch {
      // Whoever looks for work finds it.
    }
  }

  /**
   * A tool finished after its run was taken away. What it says is the truth, and settles the doubt that was raised about
   * it, unless a person has settled it already.
   */
  async #late(agent: AgentPort, runId: string, events: readonly RunEvent[]): Promise<void> {
    const settled = events.find((event) => event.type === 'call-settled');
    for (let tries = 0; settled && tries < 10; tries++) {
      const loaded = await this.#options.store.read(runId);
      if (!loaded) return;
      const state = stateOf(loaded.events);
      const call = state.turn?.calls.find(({ id }) => id === settled.callId);
      const doubted = call?.phase.at === 'waiting' && call.phase.interrupt.kind === 'unknown-outcome';
      if (state.ended || !call || !(doubted || call.phase.at === 'started')) return;
      const journal = this.journal(loaded.run, state, agent, { onStale: 'fail' });
      const run = new Run(state, { sink: journal });
      journal.attach(run);
      run.record(settled);
      try {
        await journal.recorded();
      } catch (error) {
        if (error instanceof ConflictError && error.code === 'stale-version') continue;
        throw error;
      }
      journal.drives();
      if (journal.holds) this.go(agent, run, journal, this.#options.contextFor(loaded.run));
      return;
    }
  }

  /** A question that nobody decided in time is decided as it said it would be. */
  #expire(run: Run, journal: Journal, now: number): void {
    for (const call of run.state.turn?.calls ?? []) {
      if (call.phase.at !== 'waiting' || call.phase.interrupt.kind === 'inside') continue;
      const { id, expiresAt, onExpiry = 'reject' } = call.phase.interrupt;
      if (expiresAt === undefined || expiresAt > now) continue;
      const by = 'deadline';
      const reason = 'Nobody decided in time.';
      const decision =
        onExpiry === 'approve' ? ({ type: 'approve', by } as const) : ({ type: onExpiry, reason, by } as const);
      journal.settle(interruptKey(journal.runId, id), {
        decision: { type: onExpiry },
        by,
        channel: null,
        note: reason,
        at: now,
      });
      applyDecisions(run, [{ call, interruptId: id, decision }], undefined);
    }
  }

  /** Runs are driven again after a stop. */
  work(): void {
    this.#stopping = false;
  }

  /** Nothing is taken up any more; what runs comes to its next rest and is handed over. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.settled();
  }

  /** Resolves when nothing is being driven in this process. */
  async settled(): Promise<void> {
    while (this.#active.size > 0) await Promise.all(this.#active.values());
  }

  /** Tells when something about a run may have changed; a slow look from time to time finds what was missed. */
  changesOf(runId: string, signal?: AbortSignal): { next(): Promise<void>; stop(): void } {
    let wake: (() => void) | undefined;
    let changed = false;
    const notice = () => {
      changed = true;
      wake?.();
    };
    const stopWatching = this.#options.store.watch((id) => {
      if (id === runId) notice();
    });
    signal?.addEventListener('abort', notice, { once: true });
    return {
      async next() {
        if (!changed)
          await new Promise<void>((resolve) => {
            const timer = setTimeout(resolve, 1_000);
            wake = () => {
              clearTimeout(timer);
              resolve();
            };
          });
        changed = false;
      },
      stop() {
        stopWatching();
        signal?.removeEventListener('abort', notice);
      },
    };
  }
}
