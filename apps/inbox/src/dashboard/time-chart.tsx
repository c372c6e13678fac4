// Time to decide, by tool, person or policy: the median, and the 90th percentile.
import { Bar, BarChart, CartesianGrid, Tooltip, XAxis, YAxis } from 'recharts';
import type { NamedFigures } from '../api/wire.ts';
import { duration, roughly } from '../live/time.tsx';
import { Chart, ChartTooltip, TICK } from './chart.tsx';
import { FigureTable } from './figure-table.tsx';
import { ChartKeys } from './outcome-keys.tsx';

/** More would not be readable. The table has all. */
const MOST = 8;
const ROW = 44;

const KEYS = [
  { name: 'median', word: 'Median', background: 'bg-accent' },
  { name: 'p90', word: '90 % within', background: 'bg-edge' },
];

type TimeTableProps = { readonly by: string; readonly groups: readonly NamedFigures[] };
/** `none` says why there is nothing to show. */
type TimeChartProps = TimeTableProps & { readonly none: string };

export function TimeChart({ by, groups, none }: TimeChartProps) {
  const timed = groups.filter(({ medianMs }) => medianMs !== null);
  const shown = timed.slice(0, MOST);
  if (shown.length === 0) return <p className="text-muted">{none}</p>;
  return (
    <Chart
      label={`Time to decide by ${by}.`}
      height={shown.length * ROW + 30}
      keys={
        <div className="flex flex-wrap gap-x-4">
          <ChartKeys keys={KEYS} />
          {timed.length > MOST && <p className="text-xs text-muted">The {MOST} with the most requests</p>}
        </div>
      }
      table={<TimeTable by={by} groups={timed} />}
    >
      <BarChart
        data={[...shown]}
        layout="vertical"
        accessibilityLayer={false}
        barGap={2}
        margin={{ top: 0, right: 12, bottom: 0, left: 0 }}
      >
        <CartesianGrid horizontal={false} className="stroke-line" stroke="" />
        <XAxis type="number" tickFormatter={tickTime} tick={TICK} tickLine={false} axisLine={false} minTickGap={16} />
        <YAxis
          type="category"
          dataKey="name"
          tickFormatter={shortName}
          tick={{ className: 'fill-ink text-[11px]', fill: undefined }}
          tickLine={false}
          axisLine={false}
          width={120}
        />
        <Tooltip
          cursor={{ className: 'fill-sunken', fill: '' }}
          content={({ active, payload }) => {
            const group = payload?.[0]?.payload as NamedFigures | undefined;
            if (!group) return null;
            const lines = [
              ['Median', lasted(group.medianMs), 'bg-accent'],
              ['90 % within', lasted(group.p90Ms), 'bg-edge'],
              ['Requests', group.requests.toLocaleString()],
            ] as const;
            return <ChartTooltip active={active} title={group.name} lines={lines} />;
          }}
        />
        <Bar dataKey="medianMs" className="fill-accent" fill="" isAnimationActive={false} barSize={10} radius={2} />
        <Bar dataKey="p90Ms" className="fill-edge" fill="" isAnimationActive={false} barSize={10} radius={2} />
      </BarChart>
    </Chart>
  );
}

function TimeTable({ by, groups }: TimeTableProps) {
  return (
    <FigureTable
      label={`Time to decide by ${by} as a table`}
      head={['Name', 'Median', '90 % within', 'Requests']}
      rows={groups.map(({ name, medianMs, p90Ms, requests }) => ({
        key: name,
        name,
        cells: [lasted(medianMs), lasted(p90Ms), requests.toLocaleString()],
      }))}
    />
  );
}

export const lasted = (ms: number | null): string => (ms === null ? '–' : duration(ms));

/** Short times need fractions, or all ticks would be the same. */
const tickTime = (ms: number): string => (ms < 10_000 ? duration(ms) : roughly(ms));

const shortName = (name: string): string => (name.length > 15 ? `${name.slice(0, 14)}…` : name);
