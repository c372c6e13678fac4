// How requests ended, by tool, person or policy: a bar for the rates beside the numbers.
import { VisibleText } from '@countersign/react';
import type { Figures, NamedFigures } from '../api/wire.ts';
import { lasted } from './time-chart.tsx';

/** Approved out of approved and rejected; undefined if there are none. */
export function approvalRate({ approved, rejected }: Pick<Figures, 'approved' | 'rejected'>): number | undefined {
  return approved + rejected === 0 ? undefined : approved / (approved + rejected);
}

export const percent = (share: number | undefined): string =>
  share === undefined || Number.isNaN(share) ? '–' : `${Math.round(share * 100)} %`;

const HEAD = [
  'Approved',
  '',
  'Edited',
  'Rejected',
  'Answered',
  'Cancelled',
  'Expired',
  'Waiting',
  'Median time',
  '90 %',
];

type GroupTableProps = {
  readonly name: string;
  readonly groups: readonly NamedFigures[];
  /** How many requests of each wait now, if that is known. */
  readonly waiting?: ReadonlyMap<string, number>;
  readonly isMono: boolean;
};

export function GroupTable({ name, groups, waiting, isMono }: GroupTableProps) {
  const head = HEAD.filter((title) => waiting || title !== 'Waiting');
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard.
    <section className="overflow-x-auto" aria-label={`Table of outcomes by ${name.toLowerCase()}`} tabIndex={0}>
      <table className="w-full min-w-2xl text-left tabular-nums">
        <thead className="text-xs text-muted">
          <tr>
            {[name, ...head].map((title) => (
              <th key={title} scope="col" className="border-b border-line py-1.5 pr-4 font-medium whitespace-nowrap">
                {title || <span className="sr-only">Approval rate</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {groups.map((group) => (
            <GroupRow
              key={group.name}
              group={group}
              waiting={waiting && (waiting.get(group.name) ?? 0)}
              isMono={isMono}
            />
          ))}
        </tbody>
      </table>
    </section>
  );
}

type GroupRowProps = {
  readonly group: NamedFigures;
  readonly waiting: number | undefined;
  readonly isMono: boolean;
};

function GroupRow({ group, waiting, isMono }: GroupRowProps) {
  const rate = approvalRate(group);
  const { edited, rejected, answered, cancelled, expired } = group;
  const counts = [edited, rejected, answered, cancelled, expired, ...(waiting === undefined ? [] : [waiting])];
  return (
    <tr className="border-b border-line last:border-b-0">
      <th scope="row" className={`max-w-48 truncate py-2 pr-4 font-normal ${isMono ? 'font-mono text-xs' : ''}`}>
        <VisibleText text={group.name} />
      </th>
      <td className="w-1/4 py-2 pr-2">
        {rate !== undefined && (
          <svg aria-hidden="true" width="100%" height={12} className="block min-w-20 forced-color-adjust-none">
            <rect width="100%" height={12} rx={3} className="fill-rejected" />
            <rect width={`${rate * 100}%`} height={12} rx={3} className="fill-approved" />
          </svg>
        )}
      </td>
      <td className="py-2 pr-4 text-right whitespace-nowrap">
        {percent(rate)}
        {rate !== undefined && (
          <span className="block text-xs text-muted">
            {group.approved.toLocaleString()} of {(group.approved + rejected).toLocaleString()}
          </span>
        )}
      </td>
      {counts.map((count, column) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the columns stay where they are.
        <td key={column} className={`py-2 pr-4 ${count === 0 ? 'text-muted' : ''}`}>
          {count.toLocaleString()}
        </td>
      ))}
      <td className="py-2 pr-4 whitespace-nowrap">{lasted(group.medianMs)}</td>
      <td className="py-2 whitespace-nowrap">{lasted(group.p90Ms)}</td>
    </tr>
  );
}
