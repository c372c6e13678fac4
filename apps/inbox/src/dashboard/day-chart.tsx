// Decisions per day: a bar for each day, made of how they went.
import type { Outcomes, Stats } from '../api/wire.ts';
import { Disclosure } from '../frame/disclosure.tsx';
import { OUTCOMES, OutcomeKeys } from './outcome-keys.tsx';

const HEIGHT = 180;
const FOOT = 20;
const HEAD = 8;
const LEFT = 36;

type Day = Stats['days'][number];

export function DayChart({ days }: { readonly days: readonly Day[] }) {
  const top = niceTop(Math.max(...days.map(sumOf), 1));
  const total = days.reduce((sum, day) => sum + sumOf(day), 0);
  const y = (value: number) => HEAD + (1 - value / top) * (HEIGHT - HEAD - FOOT);
  return (
    <>
      <div
        className="flex"
        role="img"
        aria-label={`${total} decisions in ${days.length} days; the table below has the numbers.`}
      >
        <svg aria-hidden="true" width={LEFT} height={HEIGHT} className="shrink-0">
          {[0, top / 2, top].map((value) => (
            <text
              key={value}
              x={LEFT - 8}
              y={y(value) + 3}
              textAnchor="end"
              className="fill-muted text-[10px] tabular-nums"
            >
              {Number.isInteger(value) ? value.toLocaleString() : ''}
            </text>
          ))}
        </svg>
        <svg aria-hidden="true" width="100%" height={HEIGHT} className="min-w-0 overflow-visible">
          {[0, top / 2, top].map((value) => (
            <line key={value} x1="0" x2="100%" y1={y(value)} y2={y(value)} className="stroke-line" />
          ))}
          {days.map((day, index) => (
            <Bar key={day.day} day={day} index={index} of={days.length} y={y} />
          ))}
        </svg>
      </div>
      <div className="mt-2 flex flex-col gap-3">
        <OutcomeKeys />
        <Disclosure title="View as table">
          <DayTable days={days} />
        </Disclosure>
      </div>
    </>
  );
}

type BarProps = {
  readonly day: Day;
  readonly index: number;
  readonly of: number;
  readonly y: (value: number) => number;
};

function Bar({ day, index, of, y }: BarProps) {
  const slot = 100 / of;
  const x = `${(index * slot + slot * 0.14).toFixed(3)}%`;
  const width = `${(slot * 0.72).toFixed(3)}%`;
  const isNamed = index % Math.ceil(of / 6) === 0;
  let below = 0;
  return (
    <g>
      <title>{`${day.day}: ${OUTCOMES.map(({ name, word }) => `${day[name]} ${word.toLowerCase()}`).join(', ')}`}</title>
      {/* All of the day's place can be pointed at. */}
      <rect x={`${index * slot}%`} y={0} width={`${slot}%`} height={HEIGHT - FOOT} fill="transparent" />
      {OUTCOMES.map(({ name, fill }) => {
        const value = day[name];
        if (value === 0) return null;
        const bar = (
          <rect
            key={name}
            x={x}
            width={width}
            y={y(below + value)}
            height={y(below) - y(below + value)}
            className={fill}
          />
        );
        below += value;
        return bar;
      })}
      {isNamed && (
        <text x={x} y={HEIGHT - 5} className="fill-muted text-[10px] tabular-nums">
          {shortDay(day.day)}
        </text>
      )}
    </g>
  );
}

function DayTable({ days }: { readonly days: readonly Day[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard.
    <section className="max-h-72 overflow-auto" aria-label="Decisions per day as a table" tabIndex={0}>
      <table className="w-full text-left tabular-nums">
        <thead className="text-xs text-muted">
          <tr>
            {['Day', ...OUTCOMES.map(({ word }) => word)].map((title) => (
              <th key={title} scope="col" className="border-b border-line py-1.5 pr-4 font-medium">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {days.map((day) => (
            <tr key={day.day} className="border-b border-line">
              <th scope="row" className="py-1 pr-4 font-normal whitespace-nowrap">
                {day.day}
              </th>
              {OUTCOMES.map(({ name }) => (
                <td key={name} className="py-1 pr-4">
                  {day[name]}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const sumOf = ({ approved, rejected, answered, cancelled }: Outcomes): number =>
  approved + rejected + answered + cancelled;

/** An even number at or above the highest bar, round enough to be read: 2, 4, 6, 8, 10, 20, 40… */
function niceTop(highest: number): number {
  const power = 10 ** Math.floor(Math.log10(highest));
  const step = [1, 2, 4, 6, 8, 10].find((factor) => factor * power >= highest) ?? 10;
  return Math.max(step * power, 2);
}

function shortDay(day: string): string {
  return new Date(`${day}T12:00:00`).toLocaleDateString(undefined, { month: 'short', day: 'numeric' });
}
