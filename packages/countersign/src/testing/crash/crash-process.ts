// A process that can die: it reaches the store and the outside through here, and dies at a planned point.
import type { Json } from '../../core/json.ts';
import type { Store } from '../../runs/port/store.ts';

/** Something that happened outside the run and cannot be undone. */
export type CrashEffect = {
  readonly runId: string;
  readonly name: string;
  /** The `idempotencyKey` of the call that did it. */
  readonly key: string;
  readonly output: Json;
  /** The receiver ignores repeated keys, so a second time is harmless. */
  readonly repeatable: boolean;
};

/** Where a process died: before or after this write to the store or this effect. `index` counts from 0. */
export type CrashPoint = { readonly when: 'before' | 'after'; readonly index: number; readonly what: string };

/** The points where processes must die. */
export type CrashPlan = readonly Pick<CrashPoint, 'when' | 'index'>[];

/** Keeps everything that outlives a process: the effects, and where processes died. */
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

  /** Counts an act. Returns the point if the process must die there. */
  act(what: string): CrashPoint | undefined {
    const index = this.#acts++;
    const planned = this.#plan.find((point) => point.index === index);
    return planned && { ...planned, what };
  }
}

export class MortalProcess {
  /** The store as this process sees it. A dead process cannot reach it. */
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

  /** Resolves when the process has died and its last writes have arrived in the store. */
  get died(): Promise<void> {
    return this.#death.promise;
  }

  /** Records an effect outside. In a dead process it never returns. */
  async effect(effect: CrashEffect): Promise<Json> {
    if (this.#isDead) return forever();
    const point = this.#outside.act(`effect ${effect.name}`);
    if (point?.when !== 'before') this.#outside.effects.push(effect);
    if (point === undefined) return effect.output;
    await this.#die(point);
    return forever();
  }

  /** Called by a timer as well. */
  #untoldIn(store: Store): Pick<Store, 'takeUntold' | 'told'> {
    const { takeUntold, told } = store;
    if (!takeUntold || !told) return {};
    return {
      takeUntold: (...args) => this.#read(() => takeUntold.call(store, ...args)),
      told: (...args) => this.#read(() => told.call(store, ...args)),
    };
  }

  #mortal(store: Store): Store {
    return {
      append: (append) => this.#write(`append ${typesOf(append.events)}`, () => store.append(append)),
      delete: (runId) => this.#write('delete', () => store.delete(runId)),
      claim: (...args) => this.#write('claim', () => store.claim(...args)),
      release: (...args) => this.#write('release', () => store.release(...args)),
      // Called by a timer, so it is not a repeatable point. In a dead process the claim counts as lost.
      renew: async (...args) => !this.#isDead && store.renew(...args),
      read: (...args) => this.#read(() => store.read(...args)),
      due: (limit, agents) => this.#read(() => store.due(limit, agents)),
      // Called by a timer too.
      ...this.#untoldIn(store),
      listRuns: (query) => this.#read(() => store.listRuns(query)),
      listRequests: (query) => this.#read(() => store.listRequests(query)),
      request: (id) => this.#read(() => store.request(id)),
      queue: () => this.#read(() => store.queue()),
      countRuns: () => this.#read(() => store.countRuns()),
      stats: (query) => this.#read(() => store.stats(query)),
      notes: {
        get: (...args) => this.#read(() => store.notes.get(...args)),
        getMany: (...args) => this.#read(() => store.notes.getMany(...args)),
        list: (...args) => this.#read(() => store.notes.list(...args)),
        put: (...args) => this.#write('put note', () => store.notes.put(...args)),
        remove: (...args) => this.#write('remove note', () => store.notes.remove(...args)),
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

  /** Stops the code of a dead process. */
  #throwIfDead(): void {
    if (this.#isDead) throw new Error('This process is dead.');
  }
}

const typesOf = (events: readonly { readonly type: string }[]): string => events.map(({ type }) => type).join(', ');

const forever = (): Promise<never> => new Promise<never>(() => undefined);
