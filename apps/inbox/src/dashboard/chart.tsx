// A chart with what every chart needs: a size that follows the page, words for screen readers, a key and a table.
import type { ReactElement, ReactNode } from 'react';
import { ResponsiveContainer } from 'recharts';
import { Disclosure } from '../frame/disclosure.tsx';

type ChartProps = {
  /** What it shows, in one sentence. The table has the numbers. */
  readonly label: string;
  readonly height: number;
  readonly keys?: ReactNode;
  readonly table: ReactNode;
  readonly children: ReactElement;
};

export function Chart({ label, height, keys, table, children }: ChartProps) {
  return (
    <>
      <div role="img" aria-label={`${label} The table below has the numbers.`}>
        <div aria-hidden="true">
          <ResponsiveContainer width="100%" height={height} minWidth={0}>
            {children}
          </ResponsiveContainer>
        </div>
      </div>
      <div className="mt-2 flex flex-col gap-3">
        {keys}
        <Disclosure title="View as table">{table}</Disclosure>
      </div>
    </>
  );
}

/** The small text of an axis. */
export const TICK = { className: 'fill-muted text-[10px] tabular-nums', fill: undefined } as const;

type TooltipProps = {
  readonly active?: boolean;
  readonly title: string;
  readonly lines: readonly (readonly [name: string, value: string, background?: string])[];
};

export function ChartTooltip({ active = true, title, lines }: TooltipProps) {
  if (!active) return null;
  return (
    <div className="popup px-3 py-2 text-xs">
      <p className="mb-1 font-medium">{title}</p>
      <dl className="grid grid-cols-[auto_auto] gap-x-4 gap-y-0.5 tabular-nums">
        {lines.map(([name, value, background]) => (
          <div key={name} className="contents">
            <dt className="inline-flex items-center gap-1.5 text-muted">
              {background !== undefined && <span className={`size-2 rounded-sm ${background}`} />}
              {name}
            </dt>
            <dd className="text-right">{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
