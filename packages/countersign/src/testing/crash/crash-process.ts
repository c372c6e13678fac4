// A process that can die: what it does to a store or to the outside passes through here, until it dies there.
import type { Json } from '../../core/json.ts';
import type { Store } from '../../runs/port/store.ts';

/** Something that happened outside of the run, and cannot be taken back. */
export type CrashEffect = {
  readonly runId: string;
  readonly name: string;
  /** The `idempotencyKey` of the call that did it. */
  readonly key: string;
  readonly output: Json;
  /** The receiver knows the key: a second time is harmless. */
  readonly repeatable: boolean;
};

/** One write to the store or one effect, and on which side of it the process died. `index` counts from 0. */
export type CrashPoint = { readonly when: 'before' | 'after'; readonly index: number; readonly what: string };

/** Where processes are to die: at which act, on which side of it. */
export type CrashPlan = readonly Pick<CrashPoint, 'when' | 'index'>[];

/** What outlives a process: the effects, and where processes died. */
export class Outside {
  readonly effects: CrashEffect[] = [];
  readonly crashes: CrashPoint[] = [];
  readonly #plan: CrashPlan;
  #acts = 0;

  constructor(plan: CrashPlan) {
    this.#plan = plan;
  }

  /** How many writes and effects there were. */
  get acts(): number {
    return this.#acts;
  }

  /** Counts an act. The point, if the process is to die there. */
  act(what: string): CrashPoint | undefined {
    const index = this.#acts++;
    const planned = this.#plan.find((point) => point.index === index);
    return planned && { ...planned, what };
  }
}

export class MortalProcess {
  /** The store as this process sees it: once it is dead, nothing comes through. */
  readonly store: Store;
  readonly #outside: Outside;
  readonly #death = Promise.withResolvers<void>();
  readonly #sent = new Set<Promise<unknown>>();
  #isDead = false;

  constructor(store: Store, outside: Outside) {
    this.#outside = outside;
    this.store = this.#mortal(store);
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Resolves when the process has died and what it had sent to the store has arrived. */
  get died(): Promise<void> {
    return this.#death.promise;
  }

  /** Does something to the outside. In a dead process it never returns. */
  async effect(effect: CrashEffect): Promise<Json> {
    if (this.#isDead) return forever();
    const point = this.#outside.act(`effect ${effect.name}`);
    if (point?.when !== 'before') this.#outside.effects.push(effect);
    if (point === undefined) return effect.output;
    await this.#die(point);
    return forever();
  }

  #mortal(store: Store): Store {
    return {
      append: (append) => this.#write(`append ${typesOf(append.events)}`, () => store.append(append)),
      delete: (runId) => this.#write('delete', () => store.delete(runId)),
      claim: (...given) => this.#write('claim', () => store.claim(...given)),
      release: (...given) => this.#write('release', () => store.release(...given)),
      // It comes from a timer, so it is no point to come back to. A dead process is told that it has lost its claim.
      renew: async (...given) => !this.#isDead && store.renew(...given),
      read: (...given) => this.#read(() => store.read(...given)),
      due: (limit, agents) => this.#read(() => store.due(limit, agents)),
      // These come from a timer as well.
      takeReminders: (...given) => this.#read(() => store.takeReminders(...given)),
      reminded: (id) => this.#read(() => store.reminded(id)),
      listRuns: (query) => this.#read(() => store.listRuns(query)),
      listInterrupts: (query) => this.#read(() => store.listInterrupts(query)),
      interrupt: (id) => this.#read(() => store.interrupt(id)),
      countRuns: () => this.#read(() => store.countRuns()),
      stats: (query) => this.#read(() => store.stats(query)),
      notes: {
        get: (...given) => this.#read(() => store.notes.get(...given)),
        getMany: (...given) => this.#read(() => store.notes.getMany(...given)),
        list: (...given) => this.#read(() => store.notes.list(...given)),
        put: (...given) => this.#write('put note', () => store.notes.put(...given)),
        remove: (...given) => this.#write('remove note', () => store.notes.remove(...given)),
      },
      now: () => this.#read(() => store.now()),
      watch: (changed) => store.watch((runId) => this.#isDead || changed(runId)),
      migrate: () => store.migrate(),
      close: async () => undefined,
    };
  }

  async #write<T>(what: string, work: () => Promise<T>): Promise<T> {
    this.#throwIfDead();
    const point = this.#outside.act(what);
    if (point?.when === 'before') await this.#die(point);
    this.#throwIfDead();
    try {
      return await this.#send(work());
    } finally {
      if (point) await this.#die(point);
      this.#throwIfDead();
    }
  }

  async #read<T>(work: () => Promise<T>): Promise<T> {
    this.#throwIfDead();
    const found = await this.#send(work());
    this.#throwIfDead();
    return found;
  }

  #send<T>(sent: Promise<T>): Promise<T> {
    const arrived: Promise<void> = sent.then(
      () => undefined,
      () => undefined,
    );
    this.#sent.add(arrived);
    void arrived.then(() => this.#sent.delete(arrived));
    return sent;
  }

  async #die(point: CrashPoint): Promise<void> {
    this.#isDead = true;
    this.#outside.crashes.push(point);
    await Promise.all(this.#sent);
    this.#death.resolve();
  }

  /** What a dead process is told; nobody outside hears of it. */
  #throwIfDead(): void {
    if (this.#isDead) throw new Error('This process is dead.');
  }
}

const typesOf = (events: readonly { readonly type: string }[]): string => events.map(({ type }) => type).join(', ');

const forever = (): Promise<never> => new Promise<never>(() => undefined);
