// The marks of requests that people may not know of yet, in memory.
import { pauseAfter } from '../rules/due.ts';

/** `news`: how often the request was marked. `attempts`: how often it was taken since the last mark. */
type Mark = { readonly news: number; readonly tellAt: number; readonly attempts: number };

export class UntoldMarks {
  readonly #clock: () => number;
  /** How often each request was marked. */
  readonly #news = new Map<string, number>();
  /** Marks that were not taken, the oldest first, so that the next ones are found without a look at all. */
  readonly #fresh = new Map<string, Mark>();
  readonly #taken = new Map<string, Mark>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  mark(id: string): void {
    const news = (this.#news.get(id) ?? 0) + 1;
    this.#clear(id);
    this.#news.set(id, news);
    this.#fresh.set(id, { news, tellAt: this.#clock(), attempts: 0 });
  }

  take(limit: number, leaseMs: number): readonly { readonly id: string; readonly news: number }[] {
    const now = this.#clock();
    const due: [string, Mark][] = [...this.#taken].filter(([, { tellAt }]) => tellAt <= now);
    let left = limit;
    for (const entry of this.#fresh) {
      if (entry[1].tellAt > now || left-- <= 0) break;
      due.push(entry);
    }
    due.sort(([, a], [, b]) => a.tellAt - b.tellAt);
    return due.slice(0, limit).map(([id, { news, attempts }]) => {
      this.#fresh.delete(id);
      this.#taken.set(id, { news, tellAt: now + pauseAfter(attempts + 1, leaseMs), attempts: attempts + 1 });
      return { id, news };
    });
  }

  told(id: string, news: number): void {
    if (this.#news.get(id) === news) this.#clear(id);
  }

  delete(id: string): void {
    this.#clear(id);
    this.#news.delete(id);
  }

  #clear(id: string): void {
    this.#fresh.delete(id);
    this.#taken.delete(id);
  }
}
