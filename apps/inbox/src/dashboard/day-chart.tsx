// Decisions per day: a bar for each day, made of how they went.
import { Bar, BarChart, CartesianGrid, Tooltip, XAxis, YAxis } from 'recharts';
import type { Insights } from '../api/wire.ts';
import { Chart, ChartTooltip, TICK } from './chart.tsx';
import { FigureTable } from './figure-table.tsx';
import { ChartKeys, OUTCOMES } from './outcome-keys.tsx';

type Day = Insights['days'][number];

export function DayChart({ days }: { readonly days: readonly Day[] }) {
  const total = days.reduce((sum, day) => sum + sumOf(day), 0);
  return (
    <Chart
      label={`${total} decisions in ${days.length} days.`}
      height={190}
      keys={<ChartKeys keys={OUTCOMES} />}
      table={<DayTable days={days} />}
    >
      <BarChart data={[...days]} accessibilityLayer={false} margin={{ top: 8, right: 0, bottom: 0, left: 0 }}>
        <CartesianGrid vertical={false} className="stroke-line" stroke="" />
        <XAxis dataKey="day" tickFormatter={shortDay} tick={TICK} tickLine={false} axisLine={false} minTickGap={24} />
        <YAxis allowDecimals={false} tick={TICK} tickLine={false} axisLine={false} width={36} />
        <Tooltip
          cursor={{ className: 'fill-sunken', fill: '' }}
          content={({ active, payload }) => {
            const day = payload?.[0]?.payload as Day | undefined;
            if (!day) return null;
            const lines = OUTCOMES.map(({ name, word, background }) => [word, `${day[name]}`, background] as const);
            return <ChartTooltip active={active} title={longDay(day.day)} lines={lines} />;
          }}
        />
        {OUTCOMES.map(({ name, fill }) => (
          <Bar
            key={name}
            dataKey={name}
            stackId="day"
            className={fill}
            fill=""
            isAnimationActive={false}
            maxBarSize={48}
          />
        ))}
      </BarChart>
    </Chart>
  );
}

function DayTable({ days }: { readonly days: readonly Day[] }) {
  return (
    <FigureTable
      label="Decisions per day as a table"
      head={['Day', ...OUTCOMES.map(({ word }) => word)]}
      rows={days.map((day) => ({ key: day.day, name: day.day, cells: OUTCOMES.map(({ name }) => day[name]) }))}
    />
  );
}

const sumOf = (day: Day): number => OUTCOMES.reduce((sum, { name }) => sum + day[name], 0);

const shortDay = (day: string): string =>
  new Date(`${day}T12:00:00`).toLocaleDateString(undefined, { month: 'short', day: 'numeric' });

const longDay = (day: string): string =>
  new Date(`${day}T12:00:00`).toLocaleDateString(undefined, { weekday: 'short', month: 'short', day: 'numeric' });
