// One trial of a scenario: its process dies where the plan says, a new one takes over, until the run has ended.
import { ConflictError, messageOf, UsageError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type { Page, Store } from '../../runs/port/store.ts';
import type { DecisionInput } from '../../runs/questions/decision.ts';
import type { RunInterrupt, RunView } from '../../runs/questions/view.ts';
import type { Runs } from '../../runs/runs.ts';
import type { StoreUnderTest } from '../store-contract/check.ts';
import { type CrashEffect, type CrashPlan, type CrashPoint, MortalProcess, Outside } from './crash-process.ts';

/** What a scenario makes its instance with: it reaches the store and the outside through here only. */
export type CrashProcess = {
  /** What the run is to be started under. */
  readonly runId: string;
  readonly store: Store;
  readonly clock: () => number;
  /** Short where the clock of the store runs by itself. Deadlines should be a few times as long. */
  readonly leaseMs: number;
  /**
   * Does something outside of the run; a tool calls it where it would move the money. `key` is the call's
   * `idempotencyKey`; `repeatable` says that the receiver knows it, so that a second time is harmless.
   */
  effect<T extends Json>(name: string, key: string, output: T, options?: { readonly repeatable?: boolean }): Promise<T>;
  /** Everything that happened outside so far: what a tool's `verify` looks at. */
  readonly effects: readonly CrashEffect[];
};

/** A run that is started, decided on and driven to its end, whatever happens on the way. */
export type CrashScenario = {
  /**
   * Makes an instance with its agents, as a new process would. The model must go by the messages it is given. `begin` is
   * called again in the next process if its own died before it returned: what it says in a chat it says only if it is not
   * there yet.
   */
  open(process: CrashProcess): { readonly runs: Runs; begin(): Promise<unknown> };
  /** What the person decides; undefined leaves the question to its deadline. */
  decide(card: RunInterrupt, effects: readonly CrashEffect[]): DecisionInput | undefined;
  /**
   * What the person says of a call that was started and of which nobody knows how it ended. Unless given, the truth: it
   * happened with this output if its effect is there, leave it if there is one whose key begins with that of the call, and
   * run it if not.
   */
  settleDoubt?(card: RunInterrupt, effects: readonly CrashEffect[]): DecisionInput;
  /** Everything that waits is decided at the same moment, not one after the other. */
  readonly atOnce?: boolean;
  /** How long it takes until a new process is there; twice the lease unless given. */
  readonly restartAfterMs?: number;
};

/** A question, and what the person decided; undefined if they left it to its deadline, or did not see it before that. */
export type CrashDecision = {
  readonly card: RunInterrupt;
  readonly decision: DecisionInput | undefined;
  /** `decide` has returned: the person relies on it. */
  readonly acknowledged: boolean;
};

/** What came of one trial. */
export type CrashResult = {
  /** Where processes died. */
  readonly crashes: readonly CrashPoint[];
  /** How many writes and effects there were. */
  readonly acts: number;
  /** Everything that happened outside, in order. */
  readonly effects: readonly CrashEffect[];
  readonly decisions: readonly CrashDecision[];
  readonly run: RunView;
  /** What must not be; empty if all is well. */
  readonly problems: readonly string[];
};

/** So many questions and restarts are enough for any run that gets anywhere. */
const MOST_ROUNDS = 30;

/** How long a store whose clock runs by itself is waited for. */
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
  /** The clock of all processes; it stands still but for what passes between them. */
  #now = 0;
  #alive: Alive;

  constructor(subject: StoreUnderTest, scenario: CrashScenario, runId: string, plan: CrashPlan) {
    this.#subject = subject;
    this.#scenario = scenario;
    this.#runId = runId;
    // Where the clock of the store cannot be moved, a claim has to lapse by itself.
    this.#leaseMs = subject.advance ? 10_000 : 100;
    this.#outside = new Outside(plan);
    this.#alive = this.#boot(subject.store);
  }

  /** Where processes died so far, and how many writes and effects there were. */
  get outside(): Pick<CrashResult, 'crashes' | 'acts'> {
    return this.#outside;
  }

  /** Rejects if there is no run to tell of, since its start cannot be made or was lost. */
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
        const cards = await this.#surely(async ({ runs }) => (await runs.interrupts({ runId: this.#runId })).items);
        if (cards.length > 0) await this.#decide(this.#scenario.atOnce ? cards : cards.slice(0, 1));
        else await this.#takeUp();
        run = await this.#view();
      }
    } catch (error) {
      this.#problems.push(messageOf(error));
    }
    // Of what was lost, nothing can be asked.
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
      // All processes and the store tell the same time, also where the store's own clock cannot be moved.
      store: { ...process.store, now: async () => this.#now },
      clock: () => this.#now,
      leaseMs: this.#leaseMs,
      effect: (name, key, output, { repeatable = false } = {}) =>
        process.effect({ runId, name, key, output, repeatable }) as Promise<never>,
      effects: this.#outside.effects,
    });
    if (typeof opened?.begin !== 'function' || typeof opened.runs?.get !== 'function')
      throw new UsageError(
        'invalid-options',
        {},
        '`open` of a scenario gives { runs, begin }, and no promise of them.',
      );
    return { process, store, runs: opened.runs, begin: () => opened.begin() };
  }

  #view(): Promise<RunView> {
    return this.#surely(({ runs }) => runs.get(this.#runId));
  }

  async #begin(): Promise<void> {
    let acknowledged = false;
    await this.#surely(async ({ begin }) => {
      if (acknowledged) return;
      try {
        await begin();
        acknowledged = true;
      } catch (error) {
        // It was recorded, but its process died before anybody was told.
        const isRecorded = error instanceof ConflictError && error.code === 'run-exists';
        if (!isRecorded || this.#outside.crashes.length === 0) throw error;
      }
    });
  }

  async #decide(cards: readonly RunInterrupt[]): Promise<void> {
    const made = cards.map((card) => {
      const before = this.#decisions.get(card.id);
      if (before?.acknowledged) this.#problems.push(`${card.id} was decided, and is asked again`);
      const decision = before ? before.decision : this.#personSays(card);
      this.#decisions.set(card.id, { card, decision, acknowledged: false });
      return { card, decision };
    });
    await this.#surely(({ runs }) => Promise.all(made.map(({ card, decision }) => this.#tell(runs, card, decision))));
    for (const { card, decision } of made) if (decision === undefined) await this.#letExpire(card);
  }

  /** A person who was not told that their decision is on record makes it again. */
  async #tell(runs: Runs, card: RunInterrupt, decision: DecisionInput | undefined): Promise<void> {
    if (decision === undefined || this.#decisions.get(card.id)?.acknowledged) return;
    await runs.decide(card.id, decision, { by: PERSON, digest: card.digest });
    this.#decisions.set(card.id, { card, decision, acknowledged: true });
  }

  #personSays(card: RunInterrupt): DecisionInput | undefined {
    const { effects } = this.#outside;
    if (card.kind !== 'unknown-outcome') return this.#scenario.decide(card, effects);
    return this.#scenario.settleDoubt ? this.#scenario.settleDoubt(card, effects) : truthfully(card, effects);
  }

  async #letExpire({ id, expiresAt }: RunInterrupt): Promise<void> {
    if (expiresAt === null) throw new Error(`The scenario decides nothing on ${id}, which has no deadline.`);
    await this.#pass(Math.max(0, expiresAt + 1 - this.#now));
    while ((await this.#subject.store.now()) <= expiresAt) await tick();
    // Another deadline that passed before may have decided this one, too.
    const { settledAt } = await this.#surely(({ runs }) => runs.interrupt(id));
    if (settledAt === null) await this.#takeUp();
  }

  /** A run that has something to do and that nobody holds must be found by whoever looks for work. */
  async #takeUp(): Promise<void> {
    const until = performance.now() + (this.#subject.advance ? 0 : PATIENCE_MS);
    while (!(await this.#alive.store.due(1_000_000)).includes(this.#runId)) {
      if (performance.now() > until)
        throw new Error(`Run ${this.#runId} is stuck: nobody who looks for work finds it.`);
      await tick();
    }
    await this.#surely(({ runs }) => runs.drive(this.#runId));
  }

  /** Does the work in a process that lives: what one was doing when it died is done again by the next. */
  async #surely<T>(work: (alive: Alive) => Promise<T>): Promise<T> {
    for (;;) {
      const alive = this.#alive;
      const done = await Promise.race([untilRest(alive, work), alive.process.died]);
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
   * When processes die, questions come at other times: which of them a deadline decided unseen is a matter of chance. A
   * doubt that was withdrawn, since the user of the scenario spoke, was asked as well.
   */
  async #addUnseen(): Promise<void> {
    const { runs } = this.#alive;
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const settled = { runId: this.#runId, settled: true, ...(cursor && { cursor }) };
      const page: Page<RunInterrupt> = await runs.interrupts(settled);
      for (const card of page.items)
        if ((card.kind !== 'unknown-outcome' || isWithdrawn(card)) && !this.#decisions.has(card.id))
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
      const { settledAt, settlement } = await runs.interrupt(card.id);
      const by = (settlement as { readonly by?: unknown } | null)?.by;
      if (acknowledged && decision !== undefined && (settledAt === null || by !== PERSON))
        this.#problems.push(`the decision on ${card.id} was lost: ${JSON.stringify(settlement)}`);
    }
  }
}

/** The process that lives now, and the scenario in it. */
type Alive = {
  readonly process: MortalProcess;
  readonly store: Store;
  readonly runs: Runs;
  begin(): Promise<unknown>;
};

const isWithdrawn = ({ settlement }: RunInterrupt): boolean => settlement !== null && 'withdrawn' in settlement;

const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

const ENDED: ReadonlySet<string> = new Set(['done', 'failed', 'cancelled']);

/** The work, and whatever it set going in this process. Undefined if the process died over it. */
async function untilRest<T>(
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

/**
 * What a person says who looks outside: it happened with this output, or it did not, so run it. Of a call that makes
 * several requests, with keys that begin with its own, nobody can say how it would have ended: it is left.
 */
function truthfully({ part }: RunInterrupt, effects: readonly CrashEffect[]): DecisionInput {
  const callId = String(part.metadata?.callId ?? part.toolRequest.ref);
  const happened = effects.find(({ key }) => key === callId);
  if (happened) return { type: 'respond', output: happened.output };
  const isPart = (key: string) => key.startsWith(callId) && !/^\w/.test(key.slice(callId.length));
  return effects.some(({ key }) => isPart(String(key))) ? 'reject' : 'approve';
}
