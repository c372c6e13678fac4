// Reads the settled requests of a period, and shares them between callers for a few seconds.
import type { Runs } from 'countersign';
import { defined } from '../defined.ts';
import { figuresOf, type InsightFigures, type Selection } from './figures.ts';
import { type SettledRequest, settledRequest } from './settled-request.ts';

/** Of how many days in UTC, including today, and of whose runs. */
export type Period = { readonly days: number; readonly startedBy?: string };

/** `isComplete` is false if there were more requests than are read. Then these are the newest, asked since `since`. */
export type SettledRequests = {
  readonly requests: readonly SettledRequest[];
  readonly since: number;
  readonly isComplete: boolean;
};

/** How people decide: the figures of a period. */
export type Insights = InsightFigures & Omit<SettledRequests, 'requests'>;

/** What to count: 30 days by default. */
export type InsightSelection = {
  readonly [name in keyof (Period & Selection)]?: (Period & Selection)[name] | undefined;
};

export async function insightsOf(
  read: (period: Period) => Promise<SettledRequests>,
  { days = 30, startedBy, ...selection }: InsightSelection,
): Promise<Insights> {
  const { requests, ...period } = await read(defined({ days, startedBy }));
  return { ...period, ...figuresOf(requests, defined(selection)) };
}

/** How many requests are read for one period. */
export const MOST_REQUESTS = 10_000;
const PAGE_SIZE = 200;
const DAY_MS = 86_400_000;

export async function readSettled(runs: Runs, { days, startedBy }: Period): Promise<SettledRequests> {
  const now = await runs.store.now();
  const since = now - (now % DAY_MS) - (days - 1) * DAY_MS;
  const query = defined({ settled: true, order: 'newest' as const, createdAfter: since, startedBy, limit: PAGE_SIZE });
  const requests: SettledRequest[] = [];
  let cursor: string | undefined;
  for (let looked = 0; looked < MOST_REQUESTS; looked += PAGE_SIZE) {
    const page = await runs.interrupts({ ...query, ...defined({ cursor }) });
    requests.push(...page.items.flatMap((interrupt) => settledRequest(interrupt) ?? []));
    if (page.cursor === null) return { requests, since, isComplete: true };
    cursor = page.cursor;
    // SQLite answers synchronously: this lets other requests run in between.
    await new Promise(setImmediate);
  }
  return { requests, since: requests.at(-1)?.createdAt ?? since, isComplete: false };
}

/** How long requests are shared, at least, and as a multiple of the time that reading them took. */
const SHORTEST_MS = 2_000;
const SHARE = 4;
const LONGEST_MS = 10_000;
/** How many periods are kept. */
const MOST_KEPT = 20;

type Kept = { readonly reading: Promise<SettledRequests>; until: number };

/** The figures of open dashboards, and of every filter on them, come from one read. */
export function sharedRequests(
  read: (period: Period) => Promise<SettledRequests>,
  clock = performance.now.bind(performance),
) {
  const kept = new Map<string, Kept>();
  return (period: Period): Promise<SettledRequests> => {
    const key = JSON.stringify([period.days, period.startedBy ?? null]);
    const known = kept.get(key);
    if (known && clock() < known.until) return known.reading;
    const startedAt = clock();
    const entry: Kept = { reading: read(period), until: Number.POSITIVE_INFINITY };
    entry.reading.then(
      () => {
        const tookMs = clock() - startedAt;
        entry.until = clock() + Math.min(Math.max(SHARE * tookMs, SHORTEST_MS), LONGEST_MS);
      },
      () => {
        entry.until = 0;
      },
    );
    kept.delete(key);
    const oldest = kept.keys().next();
    if (kept.size >= MOST_KEPT && !oldest.done) kept.delete(oldest.value);
    kept.set(key, entry);
    return entry.reading;
  };
}
