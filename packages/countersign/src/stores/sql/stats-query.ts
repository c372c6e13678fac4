// The statistics as SQL that both SQL stores understand, and what becomes of its rows.
import { UsageError } from '../../core/errors.ts';
import type { DayStats, SettledCounts, Stats, StatsQuery, ToolStats } from '../../runs/port/stats.ts';
import type { Dialect, Sql } from './list-query.ts';

/** What is asked for, checked, with the end of the time known. */
export type StatsRequest = { readonly since: number; readonly until: number; readonly startedBy: string | undefined };

/**
 * One row for each tool that questions wait for, one for each tool and one for each day with something settled, and one
 * for everything that was settled.
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
      `Statistics are of a time in whole milliseconds that has begun, not from ${since} to ${until}.`,
    );
  }
  return { since, until, startedBy };
}

export function statsSql({ since, until, startedBy }: StatsRequest, dialect: Dialect): Sql {
  const values: (string | number)[] = [];
  const value = (given: string | number): string => dialect.value(values.push(given));
  const ofStarter = (): string => (startedBy === undefined ? '' : `AND i.started_by = ${value(startedBy)}`);
  // The place of a question among those that took less time: of everything, and of its tool. What was withdrawn took
  // no decision, and stands apart.
  const text = `WITH settled AS (
      SELECT i.tool, i.settled_at / ${DAY_MS} AS day, ${TOOK} AS took, ${dialect.decision} AS decision
      FROM ${dialect.interrupts} i
      WHERE i.settled_at IS NOT NULL AND i.settled_at >= ${value(since)} AND i.settled_at <= ${value(until)} ${ofStarter()}
    ), ranked AS (
      SELECT tool, day, took, decision, CASE WHEN decision IS NULL THEN 0 ELSE 1 END AS decided,
        row_number() OVER (PARTITION BY decision IS NULL ORDER BY took) AS place,
        count(*) OVER (PARTITION BY decision IS NULL) AS places,
        row_number() OVER (PARTITION BY decision IS NULL, tool ORDER BY took) AS tool_place,
        count(*) OVER (PARTITION BY decision IS NULL, tool) AS tool_places
      FROM settled
    )
    SELECT 'waiting' AS part, i.tool AS tool, ${NO_NUMBER} AS day, ${number('count(*)')} AS waiting,
      ${number('min(i.created_at)')} AS oldest_at, ${NO_COUNTS}
    FROM ${dialect.interrupts} i WHERE i.settled_at IS NULL ${ofStarter()} GROUP BY i.tool
    UNION ALL
    SELECT 'tool', tool, ${NO_NUMBER}, ${number('0')}, ${NO_NUMBER}, ${COUNTS}, ${took('tool_place', 'tool_places')}
    FROM ranked GROUP BY tool
    UNION ALL
    SELECT 'day', NULL, ${number('day')}, ${number('0')}, ${NO_NUMBER}, ${COUNTS}, ${NO_NUMBER}, ${NO_NUMBER}
    FROM ranked GROUP BY day
    UNION ALL
    SELECT 'all', NULL, ${NO_NUMBER}, ${number('0')}, ${NO_NUMBER}, ${COUNTS}, ${took('place', 'places')} FROM ranked`;
  return { text, values };
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

/** `pg` reads nothing else as a number. */
function number(expression: string): string {
  return `CAST(${expression} AS double precision)`;
}

function counted(condition: string): string {
  return number(`coalesce(sum(CASE WHEN ${condition} THEN 1 ELSE 0 END), 0)`);
}

const NO_NUMBER = number('NULL');

const COUNTS = [
  `${counted("decision IN ('approve', 'restart')")} AS approved`,
  `${counted("decision = 'reject'")} AS rejected`,
  `${counted("decision = 'respond'")} AS answered`,
  `${counted("decision IS NULL OR decision NOT IN ('approve', 'restart', 'reject', 'respond')")} AS cancelled`,
  `${number('coalesce(sum(decided), 0)')} AS decided`,
].join(', ');

const NO_COUNTS = [
  ...['approved', 'rejected', 'answered', 'cancelled', 'decided'].map((name) => `${number('0')} AS ${name}`),
  ...['median_ms', 'p95_ms'].map((name) => `${NO_NUMBER} AS ${name}`),
].join(', ');

/** The time of a question is that of whoever asked, which may be a little ahead. */
const TOOK =
  'CASE WHEN i.settled_at > i.created_at THEN CAST(i.settled_at AS double precision) - i.created_at ELSE 0 END';

/** The time of the one in the middle, and of the one that 95 of a hundred do not exceed. */
function took(place: string, places: string): string {
  const at = (rank: string): string =>
    number(`max(CASE WHEN decided = 1 AND ${place} = ${rank.replaceAll('n', places)} THEN took END)`);
  return `${at('(n + 1) / 2')}, ${at('(95 * n + 99) / 100')}`;
}
