// The time of the store, the one clock that all who work on it share, as this process tells it between two questions.
import type { Store } from './store.ts';

/** For how long the store's time is believed without asking again. */
const TOLD_MS = 30_000;
/** How far a clock may run from what has passed before it counts as set, and how long an answer may take. */
const OFF_MS = 1_000;
const TRIES = 3;

/** The store had this time when the clock of the process said `at`, and the steady one, which nobody sets, `steadyAt`. */
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

  /** In whole milliseconds, also where the clock is finer: a store takes no others. */
  readonly now = (): number => {
    const ranMs = this.#clock() - this.#told.at;
    const passedMs = performance.now() - this.#told.steadyAt;
    // Time does not go back: the clock was set. One that is ahead may be right, since the steady one stops with a computer
    // that sleeps.
    return Math.floor(this.#told.time + (passedMs - ranMs > OFF_MS ? passedMs : ranMs));
  };

  /** The store was asked lately, and nobody has set the clock since. */
  get isKnown(): boolean {
    const ranMs = this.#clock() - this.#told.at;
    const steady = performance.now();
    return steady < this.#askAgainAt && Math.abs(steady - this.#told.steadyAt - ranMs) <= OFF_MS;
  }

  /**
   * Asks the store, unless its time is known. Whoever is stopped between question and answer, or waits for a connection,
   * does not know to which moment the answer belongs: they ask again.
   */
  async tell(): Promise<void> {
    if (!this.isKnown) await this.ask();
  }

  /** Asks in any case. */
  async ask(): Promise<void> {
    let best = await this.#ask();
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
