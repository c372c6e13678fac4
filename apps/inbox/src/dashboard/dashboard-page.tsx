// The dashboard: pending requests, time to decide, and outcomes.
import { useQuery } from '@tanstack/react-query';
import { ChartColumn } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link, useSearchParams } from 'wouter';
import { meQuery, statsQuery } from '../api/queries.ts';
import type { Stats } from '../api/wire.ts';
import { PageHeader } from '../frame/page-header.tsx';
import { Empty, Loading, Trouble } from '../frame/placeholders.tsx';
import { useNow } from '../live/now.ts';
import { duration, roughly } from '../live/time.tsx';
import { ChoiceMenu } from '../primitives/choice-menu.tsx';
import { DayChart } from './day-chart.tsx';
import { approvalRate, ToolChart } from './tool-chart.tsx';

const PERIODS = [7, 30, 90];

export default function DashboardPage() {
  const [params, setParams] = useSearchParams();
  const asked = Number(params.get('days'));
  const days = PERIODS.includes(asked) ? asked : 30;
  const stats = useQuery(statsQuery(days));
  const me = useQuery(meQuery);
  return (
    <>
      <PageHeader title="Dashboard">
        <ChoiceMenu
          label="Period"
          value={`${days}`}
          choices={PERIODS.map((period) => ({ value: `${period}`, label: `Last ${period} days` }))}
          onChange={(period) => setParams({ days: period }, { replace: true })}
        />
      </PageHeader>
      <div className="flex min-h-0 flex-1 flex-col overflow-y-auto">
        {stats.data ? (
          <Numbers stats={stats.data} days={days} isOwn={me.data?.reach === 'own'} />
        ) : stats.error ? (
          <Trouble error={stats.error} what="The dashboard" onRetry={() => void stats.refetch()} />
        ) : (
          <div className="p-6">
            <Loading what="the dashboard" />
          </div>
        )}
      </div>
    </>
  );
}

type NumbersProps = { readonly stats: Stats; readonly days: number; readonly isOwn: boolean };

/** A person who can decide for others still sees numbers of their own runs only, and the page says so. */
function Numbers({ stats, days, isOwn }: NumbersProps) {
  const now = useNow();
  if (stats.waiting === 0 && stats.decided === 0)
    return (
      <Empty icon={ChartColumn} title="No data yet">
        Numbers appear here after the first decisions.
        <div className="mt-4">
          <Link href="/" className="button">
            Open the inbox
          </Link>
        </div>
      </Empty>
    );
  const rate = approvalRate(sumOf(stats));
  return (
    <div className="mx-auto flex w-full max-w-5xl flex-col gap-6 px-4 py-5 md:px-6">
      {isOwn && <p className="text-sm text-muted">Only runs you started.</p>}
      <dl className="grid grid-cols-2 gap-3 lg:grid-cols-5">
        <Tile name="Waiting now" value={count(stats.waiting)}>
          {stats.oldestWaitingAt !== null && stats.waiting > 0 && (
            <Link
              href="/"
              className="underline underline-offset-2 max-md:-my-3 max-md:inline-flex max-md:min-h-11 max-md:items-center"
            >
              Oldest: {roughly(Math.max(now - stats.oldestWaitingAt, 0))}
            </Link>
          )}
        </Tile>
        <Tile name="Decided" value={count(stats.decided)}>
          in {days} days
        </Tile>
        <Tile name="Time to decide" value={lasted(stats.medianMs)}>
          median
        </Tile>
        <Tile name="Time to decide" value={lasted(stats.p95Ms)}>
          95th percentile
        </Tile>
        <Tile name="Approved" value={rate === undefined ? '–' : `${Math.round(rate * 100)} %`}>
          of approved and rejected
        </Tile>
      </dl>
      <section aria-labelledby="per-day" className="panel p-4">
        <h2 id="per-day" className="mb-3 font-semibold">
          Decisions per day
        </h2>
        <DayChart days={stats.days} />
      </section>
      <section aria-labelledby="per-tool" className="panel p-4">
        <h2 id="per-tool" className="mb-3 font-semibold">
          Approval rate per tool
        </h2>
        <ToolChart tools={stats.tools} />
      </section>
      <p className="text-xs text-muted">Covers the runs you can access. Days are in UTC.</p>
    </div>
  );
}

const count = (value: number): string => value.toLocaleString();
const lasted = (ms: number | null): string => (ms === null ? '–' : duration(ms));

function sumOf({ tools }: Stats) {
  return tools.reduce(
    (sum, { approved, rejected }) => ({ approved: sum.approved + approved, rejected: sum.rejected + rejected }),
    { approved: 0, rejected: 0 },
  );
}

function Tile({
  name,
  value,
  children,
}: {
  readonly name: string;
  readonly value: string;
  readonly children?: ReactNode;
}) {
  return (
    <div className="panel flex flex-col gap-0.5 p-4 max-lg:last:col-span-2">
      <dt className="text-xs text-muted">{name}</dt>
      <dd className="text-2xl font-semibold tracking-tight tabular-nums">{value}</dd>
      <dd className="text-xs text-muted">{children}</dd>
    </div>
  );
}
