// The statistics as SQL that both SQL stores understand.
import { drillAgent } from '../../core/run/drill.ts';
import { DAY_MS, type StatsRequest } from '../rules/stats.ts';
import type { Dialect, Sql } from './list-query.ts';

export function statsSql({ since, until, startedBy }: StatsRequest, dialect: Dialect): Sql {
  const values: (string | number)[] = [];
  const value = (item: string | number): string => dialect.value(values.push(item));
  const ofStarter = (): string => (startedBy === undefined ? '' : `AND i.started_by = ${value(startedBy)}`);
  // `place` is the rank of a request by the time that its decision took: among all, and among those of its tool.
  const text = `WITH settled AS (
      SELECT i.tool, i.settled_at / ${DAY_MS} AS day, ${TOOK} AS took, i.outcome,
        CASE WHEN i.outcome = 'withdrawn' THEN 0 ELSE 1 END AS decided
      FROM ${dialect.requests} i
      WHERE i.settled_at IS NOT NULL AND i.settled_at >= ${value(since)} AND i.settled_at <= ${value(until)}
        AND i.agent NOT LIKE '${drillAgent('%')}' ${ofStarter()}
    ), ranked AS (
      SELECT tool, day, took, outcome, decided,
        row_number() OVER (PARTITION BY decided ORDER BY took) AS place,
        count(*) OVER (PARTITION BY decided) AS places,
        row_number() OVER (PARTITION BY decided, tool ORDER BY took) AS tool_place,
        count(*) OVER (PARTITION BY decided, tool) AS tool_places
      FROM settled
    )
    SELECT 'waiting' AS part, i.tool AS tool, ${NO_NUMBER} AS day, ${number('count(*)')} AS waiting,
      ${number('min(i.created_at)')} AS oldest_at, ${NO_COUNTS}
    FROM ${dialect.requests} i WHERE i.settled_at IS NULL ${ofStarter()} GROUP BY i.tool
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

/** The only SQL type that `pg` reads as a number. */
function number(expression: string): string {
  return `CAST(${expression} AS double precision)`;
}

function counted(condition: string): string {
  return number(`coalesce(sum(CASE WHEN ${condition} THEN 1 ELSE 0 END), 0)`);
}

const NO_NUMBER = number('NULL');

const COUNTS = [
  `${counted("outcome = 'approved'")} AS approved`,
  `${counted("outcome = 'rejected'")} AS rejected`,
  `${counted("outcome = 'answered'")} AS answered`,
  `${counted("outcome IN ('cancelled', 'withdrawn')")} AS cancelled`,
  `${number('coalesce(sum(decided), 0)')} AS decided`,
].join(', ');

const NO_COUNTS = [
  ...['approved', 'rejected', 'answered', 'cancelled', 'decided'].map((name) => `${number('0')} AS ${name}`),
  ...['median_ms', 'p95_ms'].map((name) => `${NO_NUMBER} AS ${name}`),
].join(', ');

/** `created_at` comes from the asking process, whose clock may be a little ahead. */
const TOOK =
  'CASE WHEN i.settled_at > i.created_at THEN CAST(i.settled_at AS double precision) - i.created_at ELSE 0 END';

/** The median and the 95th percentile. */
function took(place: string, places: string): string {
  const at = (rank: string): string =>
    number(`max(CASE WHEN decided = 1 AND ${place} = ${rank.replaceAll('n', places)} THEN took END)`);
  return `${at('(n + 1) / 2')}, ${at('(95 * n + 99) / 100')}`;
}
