// The time of the store, which all processes share, estimated between two requests for it.
import type { Store } from './store.ts';

/** How long the store's time is trusted without asking again. */
const TOLD_MS = 30_000;
/** How far a clock may drift before it counts as changed, and how long a response may take. */
const OFF_MS = 1_000;
const TRIES = 3;

/** The store's time at the moment `at` of the process clock and `steadyAt` of the monotonic clock. */
type Told = { readonly time: number; readonly at: number; readonly steadyAt: number; readonly tookMs: number };

export class StoreTime {
  readonly #store: Store;
  readonly #clock: () => number;
  #told: Told;
  #askAgainAt = 0;

  constructor(store: Store, clock: () => number) {
    this.#store = store;
    this.#clock = clock;
    const at = clock();
    this.#told = { time: at, at, steadyAt: performance.now(), tookMs: 0 };
  }

  /** In whole milliseconds, even if the clock is finer: stores require them. */
  readonly now = (): number => {
    const ranMs = this.#clock() - this.#told.at;
    const passedMs = performance.now() - this.#told.steadyAt;
    // A clock that went back was changed. One that is ahead may be right: the monotonic clock stops while the computer
    // sleeps.
    return Math.floor(this.#told.time + (passedMs - ranMs > OFF_MS ? passedMs : ranMs));
  };

  /** The store was asked lately, and the clock has not been changed since. */
  get isKnown(): boolean {
    const ranMs = this.#clock() - this.#told.at;
    const steady = performance.now();
    return steady < this.#askAgainAt && Math.abs(steady - this.#told.steadyAt - ranMs) <= OFF_MS;
  }

  /** Asks the store unless its time is known: a wrong local clock must not expire a request. */
  async tell(): Promise<void> {
    if (!this.isKnown) await this.ask();
  }

  /** Asks in any case, for things that must not happen too early. */
  async ask(): Promise<void> {
    let best = await this.#ask();
    // After a slow response, for example to a suspended process, it is unclear which moment the time belongs to.
    for (let tries = 1; tries < TRIES && best.tookMs > OFF_MS; tries++) {
      const told = await this.#ask();
      if (told.tookMs < best.tookMs) best = told;
    }
    this.#told = best;
    this.#askAgainAt = performance.now() + TOLD_MS;
  }

  async #ask(): Promise<Told> {
    const at = this.#clock();
    const steadyAt = performance.now();
    const time = await this.#store.now();
    const ranMs = this.#clock() - at;
    const passedMs = performance.now() - steadyAt;
    return {
      time,
      at: at + Math.round(ranMs / 2),
      steadyAt: steadyAt + passedMs / 2,
      tookMs: Math.max(passedMs, Math.abs(ranMs)),
    };
  }
}
