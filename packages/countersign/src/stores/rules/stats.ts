// Statistics: the query checked, and the result made from the rows of each store.
import { UsageError } from '../../core/errors.ts';
import type { DayStats, SettledCounts, Stats, StatsQuery, ToolStats } from '../../runs/port/stats.ts';

/** A checked query, with the end of the period filled in. */
export type StatsRequest = { readonly since: number; readonly until: number; readonly startedBy: string | undefined };

/**
 * One row for each tool with pending requests, one for each tool and one for each day with settled requests, and one for
 * all settled requests.
 */
export type StatsRow = {
  readonly part: 'waiting' | 'tool' | 'day' | 'all';
  readonly tool: string | null;
  /** Since 1970. */
  readonly day: number | null;
  readonly waiting: number;
  readonly oldest_at: number | null;
  readonly approved: number;
  readonly rejected: number;
  readonly answered: number;
  readonly cancelled: number;
  readonly decided: number;
  readonly median_ms: number | null;
  readonly p95_ms: number | null;
};

export const DAY_MS = 86_400_000;

export function readStatsQuery(query: StatsQuery, now: number): StatsRequest {
  const { since, now: until = now, startedBy } = query;
  if (!Number.isSafeInteger(since) || !Number.isSafeInteger(until) || since < 0 || since > until) {
    throw new UsageError(
      'invalid-options',
      { since, now: until },
      `Statistics need a period in whole milliseconds that has begun, not from ${since} to ${until}.`,
    );
  }
  return { since, until, startedBy };
}

export function statsOf(rows: readonly StatsRow[], { since, until }: StatsRequest): Stats {
  const waiting = rows.filter(({ part }) => part === 'waiting');
  const all = rows.find(({ part }) => part === 'all');
  const oldest = waiting.flatMap(({ oldest_at }) => oldest_at ?? []);
  return {
    waiting: waiting.reduce((sum, row) => sum + row.waiting, 0),
    oldestWaitingAt: oldest.length === 0 ? null : Math.min(...oldest),
    decided: all?.decided ?? 0,
    medianMs: all?.median_ms ?? null,
    p95Ms: all?.p95_ms ?? null,
    tools: toolsOf(rows),
    days: daysOf(rows, since, until),
  };
}

function toolsOf(rows: readonly StatsRow[]): readonly ToolStats[] {
  const tools = new Map<string, ToolStats>();
  for (const row of rows) {
    if (row.tool === null) continue;
    const { waiting = 0, medianMs = null, ...counts } = tools.get(row.tool) ?? {};
    const settled = row.part === 'tool' ? countsOf(row) : { ...NOTHING, ...counts };
    tools.set(row.tool, {
      tool: row.tool,
      waiting: waiting + row.waiting,
      ...settled,
      medianMs: row.median_ms ?? medianMs,
    });
  }
  return [...tools.values()].sort((a, b) => (a.tool < b.tool ? -1 : 1));
}

function daysOf(rows: readonly StatsRow[], since: number, until: number): readonly DayStats[] {
  const byDay = new Map(rows.flatMap((row) => (row.part === 'day' ? [[row.day, row] as const] : [])));
  const days: DayStats[] = [];
  for (let day = Math.floor(since / DAY_MS); day * DAY_MS <= until; day += 1) {
    const row = byDay.get(day);
    days.push({
      day: new Date(day * DAY_MS).toISOString().slice(0, 10),
      ...(row === undefined ? NOTHING : countsOf(row)),
    });
  }
  return days;
}

const NOTHING: SettledCounts = { approved: 0, rejected: 0, answered: 0, cancelled: 0 };

function countsOf({ approved, rejected, answered, cancelled }: StatsRow): SettledCounts {
  return { approved, rejected, answered, cancelled };
}
