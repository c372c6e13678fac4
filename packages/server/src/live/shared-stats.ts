// The numbers of all questions, for everybody who asks: to find them takes the longer the more questions there are, on
// SQLite nothing else happens meanwhile, and an open dashboard asks whenever something has changed.
import { setTimeout as delay } from 'node:timers/promises';
import type { Runs, Stats } from 'countersign';

type Asked = NonNullable<Parameters<Runs['stats']>[0]>;

/** For so many times as long as a look has taken, there is no other for the same numbers. */
const SHARE = 4;
/** A store that hung once keeps nobody waiting for longer. */
const LONGEST_MS = 10_000;

export class SharedStats {
  readonly #runs: Runs;
  readonly #closed: AbortSignal;
  /** The look that has not begun yet: it sees whatever those who ask now have seen. */
  readonly #next = new Map<string, Promise<Stats>>();
  /** Resolves when the next one may begin. */
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
    // A server that stops keeps nobody waiting.
    await delay(ms, undefined, { ref: false, signal: this.#closed }).catch(() => undefined);
  }
}
