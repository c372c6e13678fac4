// How often each tool is approved, and how long that takes: bars in a table, so that the numbers are there too.
import { VisibleText } from '@countersign/react';
import type { Outcomes, Stats } from '../api/wire.ts';
import { duration } from '../live/time.tsx';

/** Approved out of approved and rejected; undefined if there are none. */
export function approvalRate({ approved, rejected }: Pick<Outcomes, 'approved' | 'rejected'>): number | undefined {
  return approved + rejected === 0 ? undefined : approved / (approved + rejected);
}

export function ToolChart({ tools }: { readonly tools: Stats['tools'] }) {
  const sorted = [...tools].sort((a, b) => weightOf(b) - weightOf(a));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard.
    <section className="overflow-x-auto" aria-label="Table of the tools" tabIndex={0}>
      <table className="w-full min-w-xl text-left tabular-nums">
        <thead className="text-xs text-muted">
          <tr>
            {['Tool', 'Approved', '', 'Rejected', 'Answered', 'Cancelled', 'Waiting', 'Median time'].map((title) => (
              <th key={title} scope="col" className="border-b border-line py-1.5 pr-4 font-medium">
                {title || <span className="sr-only">Approval rate</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.map((tool) => (
            <ToolRow key={tool.tool} tool={tool} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function ToolRow({ tool }: { readonly tool: Stats['tools'][number] }) {
  const rate = approvalRate(tool);
  return (
    <tr className="border-b border-line last:border-b-0">
      <th scope="row" className="max-w-48 truncate py-2 pr-4 font-mono text-xs font-normal">
        <VisibleText text={tool.tool} />
      </th>
      <td className="w-2/5 py-2 pr-2">
        {rate !== undefined && (
          <svg aria-hidden="true" width="100%" height={12} className="block min-w-24">
            <rect width="100%" height={12} rx={3} className="fill-rejected" />
            <rect width={`${rate * 100}%`} height={12} rx={3} className="fill-approved" />
          </svg>
        )}
      </td>
      <td className="py-2 pr-4 text-right whitespace-nowrap">
        {rate === undefined ? '–' : `${Math.round(rate * 100)} %`}
        {rate !== undefined && (
          <span className="block text-xs text-muted">
            {tool.approved.toLocaleString()} of {(tool.approved + tool.rejected).toLocaleString()}
          </span>
        )}
      </td>
      <td className="py-2 pr-4">{tool.rejected}</td>
      <td className="py-2 pr-4">{tool.answered}</td>
      <td className="py-2 pr-4">{tool.cancelled}</td>
      <td className="py-2 pr-4">{tool.waiting}</td>
      <td className="py-2 whitespace-nowrap">{tool.medianMs === null ? '–' : duration(tool.medianMs)}</td>
    </tr>
  );
}

const weightOf = ({ approved, rejected, answered, cancelled, waiting }: Stats['tools'][number]): number =>
  approved + rejected + answered + cancelled + waiting;
