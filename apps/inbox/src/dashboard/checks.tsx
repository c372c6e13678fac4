// Findings: very fast approvals, drills, and calls that ran within grants. The texts blame no one.
import { VisibleText } from '@countersign/react';
import { Timer } from 'lucide-react';
import type { Insights } from '../api/wire.ts';
import { duration } from '../live/time.tsx';
import { FigureTable } from './figure-table.tsx';
import { percent } from './group-table.tsx';

export function QuickApprovers({ quick }: Pick<Insights, 'quick'>) {
  return (
    <section aria-labelledby="quick" className="flex items-start gap-3 rounded-lg bg-info-soft p-4 text-info">
      <Timer aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
      <div className="flex min-w-0 flex-col gap-1">
        <h2 id="quick" className="font-semibold">
          Worth a talk
        </h2>
        <ul>
          {quick.map(({ name, approvals, medianMs }) => (
            <li key={name}>
              <VisibleText text={name} /> approved {approvals.toLocaleString()} requests, each within three seconds
              (median {duration(medianMs)}).
            </li>
          ))}
        </ul>
        <p className="text-xs">Perhaps these requests are harmless, and their tools ask too often.</p>
      </div>
    </section>
  );
}

export function Drills({ drills: { people, expired } }: Pick<Insights, 'drills'>) {
  return (
    <>
      <FigureTable
        label="Drills by person"
        head={['Person', 'Rejected', 'Missed', 'Caught']}
        rows={people.map(({ name, caught, missed }) => ({
          key: name,
          name,
          cells: [caught, missed, percent(caught / (caught + missed))],
        }))}
      />
      {expired > 0 && <p className="mt-2 text-xs text-muted">{expired} expired before anyone decided.</p>}
    </>
  );
}

const STATUS = { active: 'Active', 'used-up': 'Used up', expired: 'Expired', revoked: 'Revoked' } as const;

export function CarriedByGrants({ grants }: Pick<Insights, 'grants'>) {
  return (
    <FigureTable
      label="Calls that grants let run"
      head={['Tool', 'Given by', 'Status', 'Calls']}
      rows={grants.map(({ grant, tool, givenBy, status, carried }) => ({
        key: grant,
        name: tool,
        isMono: true,
        cells: [<VisibleText key="by" text={givenBy} />, STATUS[status], carried.toLocaleString()],
      }))}
    />
  );
}
