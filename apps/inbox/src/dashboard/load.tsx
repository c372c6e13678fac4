// Who carries the load, at which hour of the day: a cell for each person and hour, darker with more votes.
import { VisibleText } from '@countersign/react';
import type { Insights } from '../api/wire.ts';

type LoadProps = Pick<Insights, 'hours' | 'load'>;

/** More people would make a wall of cells. */
const MOST = 20;
const SHADES = ['bg-sunken', 'bg-accent/20', 'bg-accent/40', 'bg-accent/60', 'bg-accent/80', 'bg-accent'];

export function Load({ hours, load }: LoadProps) {
  const most = Math.max(1, ...load.flatMap((person) => person.hours));
  const shown = load.slice(0, MOST);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard.
    <section className="overflow-x-auto" aria-label="Votes by person and hour" tabIndex={0}>
      <table className="w-full border-separate border-spacing-px md:border-spacing-0.5 text-xs tabular-nums">
        <thead className="text-muted">
          <tr>
            <th scope="col" className="pr-2 text-left font-medium">
              Person
            </th>
            {hours.map((_, hour) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: an hour is its number.
              <th key={hour} scope="col" className="min-w-2 text-center text-[10px] font-normal md:min-w-4">
                <span className={hour % 6 === 0 ? 'max-md:block max-md:w-0' : 'max-md:sr-only'}>{hour}</span>
              </th>
            ))}
            <th scope="col" className="pl-2 text-right font-medium">
              Votes
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.length > 1 && <LoadRow name="All" hours={hours} most={Math.max(1, ...hours)} isAll />}
          {shown.map((person) => (
            <LoadRow key={person.name} name={person.name} hours={person.hours} most={most} />
          ))}
        </tbody>
      </table>
      {load.length > MOST && <p className="mt-2 text-xs text-muted">The {MOST} people with the most votes.</p>}
    </section>
  );
}

type LoadRowProps = {
  readonly name: string;
  readonly hours: readonly number[];
  readonly most: number;
  readonly isAll?: boolean;
};

function LoadRow({ name, hours, most, isAll = false }: LoadRowProps) {
  return (
    <tr>
      <th
        scope="row"
        className={`max-w-32 truncate pr-2 max-md:max-w-20 text-left ${isAll ? 'font-medium' : 'font-normal'}`}
      >
        <VisibleText text={name} />
      </th>
      {hours.map((votes, hour) => (
        <td
          // biome-ignore lint/suspicious/noArrayIndexKey: an hour is its number.
          key={hour}
          title={`${name}, ${hour}:00–${hour + 1}:00: ${votes}`}
          className={`h-6 rounded-sm text-center forced-color-adjust-none ${shadeOf(votes, most)}`}
        >
          <span className="sr-only">{votes}</span>
        </td>
      ))}
      <td className="pl-2 text-right">{hours.reduce((sum, votes) => sum + votes, 0).toLocaleString()}</td>
    </tr>
  );
}

function shadeOf(votes: number, most: number): string {
  const shade = votes === 0 ? 0 : Math.max(1, Math.ceil((votes / most) * (SHADES.length - 1)));
  return SHADES[shade] ?? '';
}
