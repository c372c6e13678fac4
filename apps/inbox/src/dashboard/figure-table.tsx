// A table of numbers that scrolls by itself, also with the keyboard.
import { VisibleText } from '@countersign/react';
import type { ReactNode } from 'react';

type Row = {
  readonly key: string;
  readonly name: string;
  readonly cells: readonly ReactNode[];
  readonly isMono?: boolean;
};

type FigureTableProps = {
  readonly label: string;
  readonly head: readonly string[];
  readonly rows: readonly Row[];
  readonly className?: string;
};

export function FigureTable({ label, head, rows, className = 'max-h-72' }: FigureTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard.
    <section className={`overflow-auto ${className}`} aria-label={label} tabIndex={0}>
      <table className="w-full text-left tabular-nums">
        <thead className="text-xs text-muted">
          <tr>
            {head.map((title, column) => (
              <th
                key={title}
                scope="col"
                className={`border-b border-line py-1.5 font-medium whitespace-nowrap ${column === 0 ? 'pr-4' : 'px-2 text-right last:pr-0'}`}
              >
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, name, cells, isMono = false }) => (
            <tr key={key} className="border-b border-line last:border-b-0">
              <th
                scope="row"
                className={`max-w-48 truncate py-1.5 pr-4 font-normal whitespace-nowrap max-md:max-w-28 ${isMono ? 'font-mono text-xs' : ''}`}
              >
                <VisibleText text={name} />
              </th>
              {cells.map((cell, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the columns stay where they are.
                <td key={column} className="px-2 py-1.5 text-right whitespace-nowrap last:pr-0">
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
