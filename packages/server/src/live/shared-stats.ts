// Shares statistics between callers. Computing them takes time in proportion to all requests, blocks SQLite, and open
// dashboards ask after every change.
import { setTimeout as delay } from 'node:timers/promises';
import type { Runs } from 'countersign';
import type { Stats } from 'countersign/store';

type Asked = NonNullable<Parameters<Runs['stats']>[0]>;

/** The pause before the same numbers are computed again, as a multiple of the time that it took. */
const SHARE = 4;
/** The longest such pause. */
const LONGEST_MS = 10_000;

export class SharedStats {
  readonly #runs: Runs;
  readonly #closed: AbortSignal;
  /** Computations that have not begun, so their results include everything that current callers have seen. */
  readonly #next = new Map<string, Promise<Stats>>();
  /** Resolves when the next computation may begin. */
  readonly #rest = new Map<string, Promise<void>>();

  constructor(runs: Runs, closed: AbortSignal) {
    this.#runs = runs;
    this.#closed = closed;
  }

  of(asked: Asked): Promise<Stats> {
    const key = JSON.stringify([asked.days, asked.startedBy ?? null]);
    const known = this.#next.get(key);
    if (known !== undefined) return known;
    const next = this.#look(key, asked);
    this.#next.set(key, next);
    return next;
  }

  async #look(key: string, asked: Asked): Promise<Stats> {
    await this.#rest.get(key);
    this.#next.delete(key);
    const startedAt = performance.now();
    const look = this.#runs.stats(asked);
    const rest = this.#pause(look, startedAt).then(() => {
      if (this.#rest.get(key) === rest) this.#rest.delete(key);
    });
    this.#rest.set(key, rest);
    return look;
  }

  async #pause(look: Promise<Stats>, startedAt: number): Promise<void> {
    await look.catch(() => undefined);
    const ms = Math.min(SHARE * (performance.now() - startedAt), LONGEST_MS);
    // A stop ends the pause.
    await delay(ms, undefined, { ref: false, signal: this.#closed }).catch(() => undefined);
  }
}
