// The port for statistics: pending requests, decisions in a period, and how long they took.
import { UsageError } from '../../core/errors.ts';
import { anything, aString, checkOptions, type OptionTable } from '../../core/options.ts';

/** Of what. */
export type StatsQuery = {
  /** Counts requests that were settled since this time, in milliseconds. */
  readonly since: number;
  /** And up to this one; the time of the store unless given. */
  readonly now?: number;
  /** Counts only runs that this person started. */
  readonly startedBy?: string;
};

/**
 * Settled requests by outcome. A restart counts as approved, an answer as answered. Requests that were withdrawn because
 * the run continued or ended without them count as cancelled.
 */
export type SettledCounts = {
  readonly approved: number;
  readonly rejected: number;
  readonly answered: number;
  readonly cancelled: number;
};

/** The requests of one tool. */
export type ToolStats = SettledCounts & {
  readonly tool: string;
  /** Now, however long they have. */
  readonly waiting: number;
  /** From the request to the decision, of half of those that were decided at most; null if none was. */
  readonly medianMs: number | null;
};

/** The settled requests of one day in UTC. */
export type DayStats = SettledCounts & { readonly day: string };

/** Figures about decisions. Times to decide leave out withdrawn requests. Settled drills are not counted. */
export type Stats = {
  /** How many requests wait now, and since when the oldest of them does. */
  readonly waiting: number;
  readonly oldestWaitingAt: number | null;
  /** How many were decided. */
  readonly decided: number;
  readonly medianMs: number | null;
  readonly p95Ms: number | null;
  /** One entry for each tool with a waiting or settled request, by name. */
  readonly tools: readonly ToolStats[];
  /** Every day from the first to the last, also days without a settled request. */
  readonly days: readonly DayStats[];
};

/** Of how many days, and of whose runs. */
export type StatsOptions = { readonly days?: number; readonly startedBy?: string };

const DAY_MS = 86_400_000;

const STATS_OPTIONS: OptionTable<StatsOptions> = { days: anything, startedBy: aString };

/** As many whole days as that, today's beginning included. */
export function statsQuery(options: StatsOptions, now: number): StatsQuery {
  checkOptions('`stats`', options, STATS_OPTIONS);
  const { days = 30, ...query } = options;
  if (!Number.isSafeInteger(days) || days < 1 || days > 3_660)
    throw new UsageError('invalid-options', { days }, `Statistics are of 1 to 3,660 days, not of ${days}.`);
  return { ...query, since: now - (now % DAY_MS) - (days - 1) * DAY_MS, now };
}
