// One trial of a scenario: its process dies at each planned point and a new one takes over, until the run has ended.
import { ConflictError, messageOf, UsageError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type { Page, Store } from '../../runs/port/store.ts';
import type { DecisionInput } from '../../runs/requests/decision.ts';
import type { RunRequest, RunView } from '../../runs/requests/view.ts';
import type { Runs } from '../../runs/runs.ts';
import type { StoreUnderTest } from '../store-contract/check.ts';
import { type CrashEffect, type CrashPlan, type CrashPoint, MortalProcess, Outside } from './crash-process.ts';

/** The only access of a scenario to the store and the outside. */
export type CrashProcess = {
  /** The id that the run must have. */
  readonly runId: string;
  readonly store: Store;
  readonly clock: () => number;
  /** Short if the clock of the store cannot be set. Make deadlines a few times as long. */
  readonly leaseMs: number;
  /**
   * Records an effect outside the run. A tool calls it where it would move the money. `key` is the call's
   * `idempotencyKey`; `repeatable` says that the receiver ignores repeated keys.
   */
  effect<T extends Json>(name: string, key: string, output: T, options?: { readonly repeatable?: boolean }): Promise<T>;
  /** All effects so far, for a tool's `verify`. */
  readonly effects: readonly CrashEffect[];
};

/** Starts a run, decides its requests, and drives it to its end despite crashes. */
export type CrashScenario = {
  /**
   * Creates an instance with its agents, as a new process would. The model must answer from its messages alone. If the
   * process dies before `begin` returns, the next process calls it again; it must not send a chat message twice.
   */
  open(process: CrashProcess): { readonly runs: Runs; begin(): Promise<unknown> };
  /** Decides a request; undefined leaves it to its deadline. */
  decide(card: RunRequest, effects: readonly CrashEffect[]): DecisionInput | undefined;
  /**
   * Decides about a call that was interrupted by a crash. By default it answers with the output of the call's effect. If
   * only effects exist whose key starts with the call's key, it rejects the call; without any effect, it runs the call.
   */
  settleDoubt?(card: RunRequest, effects: readonly CrashEffect[]): DecisionInput;
  /** These people decide each request, one after the other, all in the same way; the crash kit itself by default. */
  readonly voters?: readonly { readonly by: string; readonly roles?: readonly string[] }[];
  /** Decides all pending requests at the same moment, not one after the other. */
  readonly atOnce?: boolean;
  /** The time until a new process starts; twice the lease by default. */
  readonly restartAfterMs?: number;
};

/** A request and its decision; undefined if it was left to its deadline or never seen. */
export type CrashDecision = {
  readonly card: RunRequest;
  readonly decision: DecisionInput | undefined;
  /** Whether `decide` returned, so the person relies on the decision. */
  readonly acknowledged: boolean;
};

/** The result of one trial. */
export type CrashResult = {
  /** Where processes died. */
  readonly crashes: readonly CrashPoint[];
  /** How many writes and effects there were. */
  readonly acts: number;
  /** All effects, in order. */
  readonly effects: readonly CrashEffect[];
  readonly decisions: readonly CrashDecision[];
  readonly run: RunView;
  /** Broken promises; empty if all is well. */
  readonly problems: readonly string[];
};

/** More requests and restarts than any run that makes progress needs. */
const MOST_ROUNDS = 30;

/** The longest wait for a store whose clock cannot be set. */
const PATIENCE_MS = 30_000;

const PERSON = 'crash-kit';

export class CrashTrial {
  readonly #subject: StoreUnderTest;
  readonly #scenario: CrashScenario;
  readonly #runId: string;
  readonly #leaseMs: number;
  readonly #outside: Outside;
  readonly #decisions = new Map<string, CrashDecision>();
  readonly #problems: string[] = [];
  /** The votes that were acknowledged. */
  readonly #voted = new Set<string>();
  /** The clock of all processes. It moves only between processes. */
  #now = 0;
  #alive: Alive;

  constructor(subject: StoreUnderTest, scenario: CrashScenario, runId: string, plan: CrashPlan) {
    this.#subject = subject;
    this.#scenario = scenario;
    this.#runId = runId;
    // If the clock cannot be set, the trial waits until a claim has lapsed.
    this.#leaseMs = subject.advance ? 10_000 : 100;
    this.#outside = new Outside(plan);
    this.#alive = this.#boot(subject.store);
  }

  /** Where processes died so far, and how many writes and effects there were. */
  get outside(): Pick<CrashResult, 'crashes' | 'acts'> {
    return this.#outside;
  }

  /** Rejects if the run could not be started or was lost. */
  async run(): Promise<CrashResult> {
    try {
      return await this.#run();
    } finally {
      const { store } = this.#alive;
      if (store !== this.#subject.store) await store.close();
    }
  }

  async #run(): Promise<CrashResult> {
    this.#now = await this.#subject.store.now();
    await this.#begin();
    let run = await this.#view();
    try {
      for (let round = 0; !ENDED.has(run.status) && round < MOST_ROUNDS; round++) {
        const cards = await this.#retrying(async ({ runs }) => (await runs.requests({ runId: this.#runId })).items);
        if (cards.length > 0) await this.#decide(this.#scenario.atOnce ? cards : cards.slice(0, 1));
        else await this.#takeOver();
        run = await this.#view();
      }
    } catch (error) {
      this.#problems.push(messageOf(error));
    }
    // Both fail if the run was lost.
    await this.#addUnseen().catch((error: unknown) => this.#problems.push(messageOf(error)));
    await this.#check(run).catch((error: unknown) => this.#problems.push(messageOf(error)));
    const { crashes, effects, acts } = this.#outside;
    return { crashes, acts, effects, decisions: [...this.#decisions.values()], run, problems: this.#problems };
  }

  #boot(store: Store): Alive {
    const process = new MortalProcess(store, this.#outside);
    const runId = this.#runId;
    const opened = this.#scenario.open({
      runId,
      // All processes use the same clock as the store, even if that one cannot be set.
      store: { ...process.store, now: async () => this.#now },
      clock: () => this.#now,
      leaseMs: this.#leaseMs,
      effect: (name, key, output, { repeatable = false } = {}) =>
        process.effect({ runId, name, key, output, repeatable }) as Promise<never>,
      effects: this.#outside.effects,
    });
    if (typeof opened?.begin !== 'function' || typeof opened.runs?.get !== 'function')
      throw new UsageError('invalid-options', {}, '`open` of a scenario must return { runs, begin }, not a promise.');
    return { process, store, runs: opened.runs, begin: () => opened.begin() };
  }

  #view(): Promise<RunView> {
    return this.#retrying(({ runs }) => runs.get(this.#runId));
  }

  async #begin(): Promise<void> {
    let acknowledged = false;
    await this.#retrying(async ({ begin }) => {
      if (acknowledged) return;
      try {
        await begin();
        acknowledged = true;
      } catch (error) {
        // The start was stored, but its process died before it returned.
        const isRecorded = error instanceof ConflictError && error.code === 'run-exists';
        if (!isRecorded || this.#outside.crashes.length === 0) throw error;
      }
    });
  }

  async #decide(cards: readonly RunRequest[]): Promise<void> {
    const made = cards.map((card) => {
      const before = this.#decisions.get(card.id);
      if (before?.acknowledged) this.#problems.push(`${card.id} was decided, but is asked again`);
      const decision = before ? before.decision : this.#decisionOn(card);
      this.#decisions.set(card.id, { card, decision, acknowledged: false });
      return { card, decision };
    });
    await this.#retrying(({ runs }) =>
      Promise.all(made.map(({ card, decision }) => this.#submit(runs, card, decision))),
    );
    for (const { card, decision } of made) if (decision === undefined) await this.#letExpire(card);
  }

  /** Repeats a decision until it is acknowledged. */
  async #submit(runs: Runs, card: RunRequest, decision: DecisionInput | undefined): Promise<void> {
    if (decision === undefined || this.#decisions.get(card.id)?.acknowledged) return;
    for (const voter of this.#voters) {
      const vote = `${voter.by} on ${card.id}`;
      if (this.#voted.has(vote)) await this.#checkVote(runs, card, voter.by);
      const { requestId } = await runs.decide(card.id, decision, { ...voter, digest: card.digest });
      this.#voted.add(vote);
      // An edit asks everyone again, on a new card.
      if (requestId !== card.id) break;
    }
    this.#decisions.set(card.id, { card, decision, acknowledged: true });
  }

  get #voters(): NonNullable<CrashScenario['voters']> {
    return this.#scenario.voters ?? [{ by: PERSON }];
  }

  /** An acknowledged vote stays until the request is settled. */
  async #checkVote(runs: Runs, { id }: RunRequest, by: string): Promise<void> {
    const { settledAt, progress } = await runs.request(id);
    const isKept = settledAt !== null || progress?.votes.some((vote) => vote.by === by);
    if (!isKept) this.#problems.push(`the vote of ${by} on ${id} was lost`);
  }

  #decisionOn(card: RunRequest): DecisionInput | undefined {
    const { effects } = this.#outside;
    if (card.kind !== 'doubt') return this.#scenario.decide(card, effects);
    return this.#scenario.settleDoubt ? this.#scenario.settleDoubt(card, effects) : truthfully(card, effects);
  }

  async #letExpire({ id, expiresAt }: RunRequest): Promise<void> {
    if (expiresAt === null) throw new Error(`The scenario leaves ${id} undecided, but it has no deadline.`);
    await this.#pass(Math.max(0, expiresAt + 1 - this.#now));
    while ((await this.#subject.store.now()) <= expiresAt) await tick();
    // An earlier deadline may have settled this request too.
    const { settledAt } = await this.#retrying(({ runs }) => runs.request(id));
    if (settledAt === null) await this.#takeOver();
  }

  /** Waits until the run is due, then drives it. */
  async #takeOver(): Promise<void> {
    const until = performance.now() + (this.#subject.advance ? 0 : PATIENCE_MS);
    while (!(await this.#alive.store.due(1_000_000)).includes(this.#runId)) {
      if (performance.now() > until) throw new Error(`Run ${this.#runId} is stuck: it is not among the due runs.`);
      await tick();
    }
    await this.#retrying(({ runs }) => runs.drive(this.#runId));
  }

  /** Does the work in the current process. If that dies, the next process repeats it. */
  async #retrying<T>(work: (alive: Alive) => Promise<T>): Promise<T> {
    for (;;) {
      const alive = this.#alive;
      const done = await Promise.race([untilSettled(alive, work), alive.process.died]);
      if (done && !alive.process.isDead) return done.value;
      await alive.process.died;
      await this.#restart();
    }
  }

  async #restart(): Promise<void> {
    const { another, store } = this.#subject;
    if (this.#alive.store !== store) await this.#alive.store.close();
    await this.#pass(this.#scenario.restartAfterMs ?? 2 * this.#leaseMs);
    this.#alive = this.#boot(another ? await another() : store);
  }

  async #pass(ms: number): Promise<void> {
    this.#now += ms;
    await this.#subject.advance?.(ms);
  }

  /**
   * Adds settled requests that no person saw: crashes shift times, so a deadline may settle other requests. A request
   * about a call in doubt that was withdrawn by a new message counts too.
   */
  async #addUnseen(): Promise<void> {
    const { runs } = this.#alive;
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const settled = { runId: this.#runId, settled: true, ...(cursor && { cursor }) };
      const page: Page<RunRequest> = await runs.requests(settled);
      for (const card of page.items)
        if ((card.kind !== 'doubt' || isWithdrawn(card)) && !this.#decisions.has(card.id))
          this.#decisions.set(card.id, { card, decision: undefined, acknowledged: false });
      ({ cursor } = page);
    }
  }

  async #check(run: RunView): Promise<void> {
    const { runs } = this.#alive;
    if (!ENDED.has(run.status)) this.#problems.push(`the run has not ended: it is ${run.status}`);
    const { problem } = await runs.verify(run.id);
    if (problem !== null) this.#problems.push(problem);
    for (const { card, decision, acknowledged } of this.#decisions.values()) {
      const { settledAt, settlement } = await runs.request(card.id);
      const by = (settlement as { readonly by?: unknown } | null)?.by;
      if (
        acknowledged &&
        decision !== undefined &&
        (settledAt === null || !this.#voters.some((voter) => voter.by === by))
      )
        this.#problems.push(`the decision on ${card.id} was lost: ${JSON.stringify(settlement)}`);
    }
  }
}

/** The current process, with the scenario in it. */
type Alive = {
  readonly process: MortalProcess;
  readonly store: Store;
  readonly runs: Runs;
  begin(): Promise<unknown>;
};

const isWithdrawn = ({ settlement }: RunRequest): boolean => settlement !== null && 'withdrawn' in settlement;

const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

const ENDED: ReadonlySet<string> = new Set(['done', 'failed', 'cancelled']);

/** Waits for the work and everything it started in this process. Undefined if the process died. */
async function untilSettled<T>(
  alive: Alive,
  work: (alive: Alive) => Promise<T>,
): Promise<{ readonly value: T } | undefined> {
  try {
    const value = await work(alive);
    await alive.runs.settled();
    return { value };
  } catch (error) {
    if (alive.process.isDead) return undefined;
    throw error;
  }
}

/** Decides from the effects: see `settleDoubt`. A call with several effects may have been cut off between them. */
function truthfully({ part }: RunRequest, effects: readonly CrashEffect[]): DecisionInput {
  const callId = String(part.metadata?.callId ?? part.toolRequest.ref);
  const happened = effects.find(({ key }) => key === callId);
  if (happened) return { type: 'respond', output: happened.output };
  const isPart = (key: string) => key.startsWith(callId) && !/^\w/.test(key.slice(callId.length));
  return effects.some(({ key }) => isPart(String(key))) ? 'reject' : 'approve';
}
