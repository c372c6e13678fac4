// How long a claim lasts, by two clocks. That of the store may be set back when it is asked again, and the steady one stops
// with a computer that sleeps: whichever says that it is over is believed.

export type Moment = { readonly at: number; readonly steadyAt: number };

export class Lease {
  readonly #ms: number;
  readonly #clock: () => number;
  #from: Moment;

  constructor(ms: number, clock: () => number) {
    this.#ms = ms;
    this.#clock = clock;
    this.#from = this.now();
  }

  /** To be taken before the store is asked: the claim lasts from then on at most. */
  now(): Moment {
    return { at: this.#clock(), steadyAt: performance.now() };
  }

  lastsFrom(moment: Moment): void {
    this.#from = moment;
  }

  get isOver(): boolean {
    const { at, steadyAt } = this.now();
    return at - this.#from.at >= this.#ms || steadyAt - this.#from.steadyAt >= this.#ms;
  }
}
