// Keeps the claims of the runs that are driven in this process: one timer, however many there are.

type Renewable = { renew(): Promise<void> };

/** Empty once it need not be renewed: V8 may keep what a set once had for long. */
export type Renewed = { journal: Renewable | undefined };

export class Renewals {
  readonly #everyMs: number;
  readonly #renewed = new Set<Renewed>();
  #timer: NodeJS.Timeout | undefined;

  constructor(leaseMs: number) {
    this.#everyMs = Math.max(10, leaseMs / 3);
  }

  add(journal: Renewable): Renewed {
    const renewed: Renewed = { journal };
    this.#renewed.add(renewed);
    this.#timer ??= setInterval(() => this.#renew(), this.#everyMs);
    this.#timer.ref();
    return renewed;
  }

  /** With nothing left to renew, the timer keeps no process alive, and goes when its time comes. */
  delete(renewed: Renewed): void {
    renewed.journal = undefined;
    this.#renewed.delete(renewed);
    if (this.#renewed.size === 0) this.#timer?.unref();
  }

  #renew(): void {
    if (this.#renewed.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    for (const { journal } of this.#renewed) void journal?.renew();
  }
}

/** How many renewals of a run are under way at once. One may be lost with its connection; more would wait for the same. */
export const MOST_RENEWALS = 2;

/** Does what it is given, unless so many are under way: then it is left, and undefined. */
export function atMost(most: number): <T>(work: () => Promise<T>) => Promise<T | undefined> {
  let underWay = 0;
  return async (work) => {
    if (underWay >= most) return undefined;
    underWay += 1;
    try {
      return await work();
    } finally {
      underWay -= 1;
    }
  };
}
