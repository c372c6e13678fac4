// Counts the settled requests of a period. What was settled on an earlier day, or in an earlier hour of this one, changes only
// by deletion, so those parts are counted once and kept for a while.
import { type CountedRequest, SettledPart } from './count-stats.ts';
import { DAY_MS, type StatsRequest, type StatsRow } from './stats.ts';

/** Calls `add` with each request that was settled between these times, both included. */
export type ReadSettled = (since: number, until: number, add: (request: CountedRequest) => void) => Promise<void>;

const HOUR_MS = 3_600_000;
/** A statement that settles a request may take this long until others see it, and clocks may differ. */
const LATE_MS = 600_000;
/** How long a deletion by another process may be unnoticed. */
const KEPT_MS = 600_000;
/** Parts are small: the times of their requests, and a few numbers for each tool. */
const MOST_KEPT = 5_000;

type Kept = { readonly part: Promise<SettledPart>; readonly until: number };

export class SettledParts {
  readonly #read: ReadSettled;
  readonly #firstAfter: (since: number) => Promise<number | undefined>;
  readonly #kept = new Map<string, Kept>();

  /** `firstAfter`: when the first request was settled since this time, if any was. */
  constructor(read: ReadSettled, firstAfter: (since: number) => Promise<number | undefined>) {
    this.#read = read;
    this.#firstAfter = firstAfter;
  }

  /** `now`: the time of the store. */
  async rows({ since, until, startedBy }: StatsRequest, now: number): Promise<readonly StatsRow[]> {
    const parts: SettledPart[] = [];
    const first = (await this.#firstAfter(since)) ?? until;
    for (let from = Math.max(first - (first % DAY_MS), since); from <= until; ) {
      const to = Math.min(endOf(from, until, now - LATE_MS), until);
      parts.push(await this.#part(from, to, startedBy, to < now - LATE_MS));
      from = to + 1;
    }
    return SettledPart.rows(parts);
  }

  /** After a deletion in this process. */
  forget(): void {
    this.#kept.clear();
  }

  #part(since: number, until: number, startedBy: string | undefined, isOver: boolean): Promise<SettledPart> {
    if (!isOver) return this.#count(since, until, startedBy);
    const key = JSON.stringify([since, until, startedBy]);
    const known = this.#kept.get(key);
    if (known && performance.now() < known.until) return known.part;
    const part = this.#count(since, until, startedBy);
    const [oldest = key] = this.#kept.keys();
    if (this.#kept.size >= MOST_KEPT) this.#kept.delete(oldest);
    // Spread, so that a period is not counted again all at once.
    this.#kept.set(key, { part, until: performance.now() + KEPT_MS * (0.5 + Math.random()) });
    part.catch(() => this.#kept.delete(key));
    return part;
  }

  async #count(since: number, until: number, startedBy: string | undefined): Promise<SettledPart> {
    const part = new SettledPart(since);
    await this.#read(since, until, (request) => {
      if (startedBy === undefined || request.startedBy === startedBy) part.add(request);
    });
    return part;
  }
}

/** The end of the part that begins here: of the day, of the hour, or of the period. */
function endOf(from: number, until: number, over: number): number {
  for (const length of [DAY_MS, HOUR_MS]) {
    const end = from - (from % length) + length - 1;
    if (end <= until && end < over) return end;
  }
  const midnight = from - (from % DAY_MS) + DAY_MS - 1;
  return Math.min(midnight, until);
}
