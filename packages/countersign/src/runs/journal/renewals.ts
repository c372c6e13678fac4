// Renews the claims of all runs that this process drives, with one timer.

type Renewable = { renew(): Promise<void> };

/** Cleared once it need not be renewed: V8 may retain deleted set entries for long. */
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
    this.#timer.ref?.();
    return renewed;
  }

  /** Without claims, the timer does not keep the process alive, and stops when it next fires. Timers of browsers are numbers. */
  delete(renewed: Renewed): void {
    renewed.journal = undefined;
    this.#renewed.delete(renewed);
    if (this.#renewed.size === 0) this.#timer?.unref?.();
  }

  #renew(): void {
    if (this.#renewed.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    for (const { journal } of this.#renewed) void journal?.renew();
  }
}
