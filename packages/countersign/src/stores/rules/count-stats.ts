// Counts requests one by one into the rows of the statistics, for stores that answer synchronously: the reader of a long
// history lets other work have its turn between any two of them.
import { isDrill } from '../../core/run/drill.ts';
import type { Outcome } from './outcomes.ts';
import { DAY_MS, type StatsRequest, type StatsRow } from './stats.ts';

/** The columns of a request that are counted. */
export type CountedRequest = {
  readonly tool: string;
  readonly agent: string;
  readonly startedBy: string | null;
  readonly createdAt: number;
  readonly settledAt: number | null;
  /** Null while it is pending. */
  readonly outcome: Outcome['outcome'] | null;
};

type Waiting = { waiting: number; oldest_at: number };
type Settled = Record<Outcome['outcome'], number>;
type SettledTool = Settled & { readonly times: Times };

export class StatsCount {
  readonly #request: StatsRequest;
  readonly #waiting = new Map<string, Waiting>();
  readonly #tools = new Map<string, SettledTool>();
  readonly #days = new Map<number, Settled>();

  constructor(request: StatsRequest) {
    this.#request = request;
  }

  add({ tool, agent, startedBy, createdAt, settledAt, outcome }: CountedRequest): void {
    const { since, until, startedBy: starter } = this.#request;
    if (starter !== undefined && startedBy !== starter) return;
    if (settledAt === null || outcome === null) {
      const waits = kept(this.#waiting, tool, () => ({ waiting: 0, oldest_at: createdAt }));
      waits.waiting += 1;
      waits.oldest_at = Math.min(waits.oldest_at, createdAt);
    } else if (settledAt >= since && settledAt <= until && !isDrill({ agent })) {
      const ofTool = kept(this.#tools, tool, () => ({ ...NOTHING, times: new Times() }));
      ofTool[outcome] += 1;
      kept(this.#days, Math.floor(settledAt / DAY_MS), () => ({ ...NOTHING }))[outcome] += 1;
      // `createdAt` comes from the asking process, whose clock may be a little ahead.
      if (outcome !== 'withdrawn') ofTool.times.add(Math.max(0, settledAt - createdAt));
    }
  }

  rows(): readonly StatsRow[] {
    const all = { ...NOTHING };
    for (const ofTool of this.#tools.values()) for (const outcome of OUTCOMES) all[outcome] += ofTool[outcome];
    const times = [...this.#tools.values()].flatMap((ofTool) => ofTool.times.sorted);
    return [
      ...[...this.#waiting].map(([tool, waits]) => ({ ...NO_ROW, part: 'waiting' as const, tool, ...waits })),
      ...[...this.#tools].map(([tool, ofTool]) => ({ ...settledRow('tool', ofTool, ofTool.times.sorted), tool })),
      ...[...this.#days].map(([day, ofDay]) => ({ ...settledRow('day', ofDay, []), day })),
      settledRow('all', all, times),
    ];
  }
}

const NOTHING: Settled = { approved: 0, rejected: 0, answered: 0, cancelled: 0, withdrawn: 0 };
const OUTCOMES = ['approved', 'rejected', 'answered', 'cancelled', 'withdrawn'] as const satisfies (keyof Settled)[];
const NO_ROW = {
  ...{ tool: null, day: null, waiting: 0, oldest_at: null, decided: 0, median_ms: null, p95_ms: null },
  ...{ approved: 0, rejected: 0, answered: 0, cancelled: 0 },
};

function settledRow(part: StatsRow['part'], settled: Settled, times: readonly Float64Array[]): StatsRow {
  const { approved, rejected, answered, cancelled, withdrawn } = settled;
  const decided = approved + rejected + answered + cancelled;
  return {
    ...{ ...NO_ROW, part, approved, rejected, answered, cancelled: cancelled + withdrawn, decided },
    median_ms: shortest(times, Math.ceil(decided / 2)),
    p95_ms: shortest(times, Math.ceil((95 * decided) / 100)),
  };
}

/** Whole milliseconds, sorted in small parts: sorting all of them at once would take long. */
class Times {
  readonly #sorted: Float64Array[] = [];
  #newest: number[] = [];

  add(ms: number): void {
    if (this.#newest.push(ms) === SORTED_AT_ONCE) this.#sort();
  }

  get sorted(): readonly Float64Array[] {
    if (this.#newest.length > 0) this.#sort();
    return this.#sorted;
  }

  #sort(): void {
    this.#sorted.push(Float64Array.from(this.#newest).sort());
    this.#newest = [];
  }
}

const SORTED_AT_ONCE = 2_000;

/** The time at this place among all times, the shortest being at 1. Halves the range in which it lies. */
function shortest(sorted: readonly Float64Array[], place: number): number | null {
  if (sorted.length === 0) return null;
  const upTo = (ms: number): number => sorted.reduce((sum, times) => sum + countUpTo(times, ms), 0);
  let low = 0;
  let high = sorted.reduce((most, times) => Math.max(most, times.at(-1) ?? 0), 0);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (upTo(middle) >= place) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** How many of the sorted times are not longer. */
function countUpTo(times: Float64Array, ms: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) <= ms) low = middle + 1;
    else high = middle;
  }
  return low;
}

function kept<Key, Value>(map: Map<Key, Value>, key: Key, create: () => Value): Value {
  const value = map.get(key) ?? create();
  map.set(key, value);
  return value;
}
