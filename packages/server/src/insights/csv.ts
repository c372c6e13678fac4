// The figures as CSV, for spreadsheets.
import type { Insights } from '../schemas/insights.ts';
import { type Cell, csvLine } from '../text/csv.ts';
import type { Figures } from './figures.ts';

const COLUMNS = [
  'requests',
  'decided',
  'approved',
  'edited',
  'rejected',
  'answered',
  'cancelled',
  'expired',
  'medianMs',
  'p90Ms',
] as const satisfies readonly (keyof Figures)[];

/** One row for each tool, person, policy and day, then the votes of each hour of the day. */
export function csvOf({ total, days, tools, people, policies, hours, load, drills, grants }: Insights): string {
  const row = (group: string, name: string, figures: Figures): readonly Cell[] => [
    ...[group, name, null],
    ...COLUMNS.map((column) => figures[column]),
    ...[null, null, null],
  ];
  const empty = COLUMNS.map(() => null);
  const hourRows = (group: string, name: string, counts: readonly number[]) =>
    counts.flatMap((count, hour) =>
      count > 0 ? [[group, name, hour, count, ...empty.slice(1), null, null, null]] : [],
    );
  const rows: readonly (readonly Cell[])[] = [
    ['group', 'name', 'hour', ...COLUMNS, 'drillsCaught', 'drillsMissed', 'carriedByGrant'],
    row('all', '', total),
    ...tools.map((figures) => row('tool', figures.name, figures)),
    ...people.map((figures) => row('person', figures.name, figures)),
    ...policies.map((figures) => row('policy', figures.name, figures)),
    ...days.map(({ day, ...counts }) => row('day', day, { ...counts, medianMs: null, p90Ms: null })),
    ...hourRows('hour', '', hours),
    ...load.flatMap((own) => hourRows('person and hour', own.name, own.hours)),
    ...drills.people.map(({ name, caught, missed }) => ['drills', name, null, ...empty, caught, missed, null]),
    ...grants.map(({ grant, carried }) => ['grant', grant, null, ...empty, null, null, carried]),
  ];
  return rows.map(csvLine).join('');
}
