// Counts settled requests one by one into parts, one for each day, and puts parts together as the rows of the statistics.
import { isDrill } from '../../core/run/drill.ts';
import type { Outcome } from './outcomes.ts';
import { DAY_MS, type StatsRow } from './stats.ts';

/** The columns of a settled request that are counted. */
export type CountedRequest = {
  readonly tool: string;
  readonly agent: string;
  readonly startedBy: string | null;
  readonly createdAt: number;
  readonly settledAt: number;
  readonly outcome: Outcome['outcome'];
};

/** How many requests of a tool are pending. `oldest_at`: of some of them. */
export type PendingTool = { readonly tool: string; readonly waiting: number; readonly oldest_at: number | null };

/** A call that nobody was asked about is no decision. */
type Decided = Exclude<Outcome['outcome'], 'granted' | 'observed' | 'changes-asked'>;
type Settled = Record<Decided, number>;
type SettledTool = Settled & { readonly times: Times };

/** The settled requests of a time within one day in UTC, by their tools. */
export class SettledPart {
  readonly #day: number;
  readonly #tools = new Map<string, SettledTool>();
  /** Of all tools: a few long lists are counted in faster than many short ones. */
  readonly #times = new Times();

  constructor(at: number) {
    this.#day = Math.floor(at / DAY_MS);
  }

  add({ tool, agent, createdAt, settledAt, outcome }: CountedRequest): void {
    if (isDrill({ agent }) || outcome === 'granted' || outcome === 'observed') return;
    const ofTool = kept(this.#tools, tool, () => ({ ...NOTHING, times: new Times() }));
    ofTool[outcome === 'changes-asked' ? 'rejected' : outcome] += 1;
    // `createdAt` comes from the asking process, whose clock may be a little ahead.
    if (outcome === 'withdrawn') return;
    const tookMs = Math.max(0, settledAt - createdAt);
    ofTool.times.add(tookMs);
    this.#times.add(tookMs);
  }

  static rows(parts: Iterable<SettledPart>): readonly StatsRow[] {
    const tools = new Map<string, Settled & { readonly sorted: Float64Array[] }>();
    const days = new Map<number, Settled>();
    const all = { ...NOTHING };
    const sorted: Float64Array[] = [];
    for (const part of parts) {
      sorted.push(...part.#times.sorted);
      for (const [tool, settled] of part.#tools) {
        const ofTool = kept(tools, tool, () => ({ ...NOTHING, sorted: [] }));
        const ofDay = kept(days, part.#day, () => ({ ...NOTHING }));
        for (const counted of [ofTool, ofDay, all])
          for (const outcome of OUTCOMES) counted[outcome] += settled[outcome];
        ofTool.sorted.push(...settled.times.sorted);
      }
    }
    return [
      ...[...tools].map(([tool, ofTool]) => ({ ...settledRow('tool', ofTool, ofTool.sorted), tool })),
      ...[...days].map(([day, ofDay]) => ({ ...settledRow('day', ofDay, []), day })),
      settledRow('all', all, sorted),
    ];
  }
}

export const pendingRows = (tools: readonly PendingTool[]): readonly StatsRow[] =>
  tools.filter(({ waiting }) => waiting > 0).map((row) => ({ ...NO_ROW, part: 'waiting', ...row }));

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
    // Nobody asks for that of a tool.
    p95_ms: part === 'all' ? shortest(times, Math.ceil((95 * decided) / 100)) : null,
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
