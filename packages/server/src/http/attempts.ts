// Limits how often strangers may try something: from one network, and all together. Counted by each process for itself.
import { UsageError } from 'countersign';

type Limits = { readonly forOne: number; readonly forAll: number; readonly periodMs: number; readonly message: string };

type Attempt = { readonly who: string; readonly at: number };

export class Attempts {
  readonly #limits: Limits;
  /** The oldest first, so never more than `forAll`. */
  #made: readonly Attempt[] = [];

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Counts an attempt before it is made. The returned function takes it back. Throws `too-many-sign-ins`. */
  count(who: string): () => void {
    const { forOne, forAll, periodMs } = this.#limits;
    const now = performance.now();
    this.#made = this.#made.filter(({ at }) => now - at < periodMs);
    const own = this.#made.filter((made) => made.who === who);
    const [oldest] = own.length >= forOne ? own : this.#made.length >= forAll ? this.#made : [];
    if (oldest) throw this.#refusal(oldest.at + periodMs - now);
    const attempt = { who, at: now };
    this.#made = [...this.#made, attempt];
    return () => {
      this.#made = this.#made.filter((made) => made !== attempt);
    };
  }

  #refusal(waitMs: number): UsageError {
    const headers = { 'retry-after': String(Math.ceil(waitMs / 1_000)) };
    const minutes = Math.ceil(waitMs / 60_000);
    const wait = `Try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`;
    return new UsageError('too-many-sign-ins', { status: 429, headers }, `${this.#limits.message} ${wait}`);
  }
}
