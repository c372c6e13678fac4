// Keeps the claims of the runs that are driven in this process: one timer, however many there are.
import type { Journal } from './journal.ts';

export class Renewals {
  readonly #everyMs: number;
  readonly #journals = new Set<Journal>();
  #timer: NodeJS.Timeout | undefined;

  constructor(leaseMs: number) {
    this.#everyMs = Math.max(10, leaseMs / 3);
  }

  add(journal: Journal): void {
    this.#journals.add(journal);
    this.#timer ??= setInterval(() => this.#renew(), this.#everyMs);
    this.#timer.ref();
  }

  /** With nothing left to renew, the timer keeps no process alive, and goes when its time comes. */
  delete(journal: Journal): void {
    this.#journals.delete(journal);
    if (this.#journals.size === 0) this.#timer?.unref();
  }

  #renew(): void {
    if (this.#journals.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    for (const journal of this.#journals) void journal.renew();
  }
}
