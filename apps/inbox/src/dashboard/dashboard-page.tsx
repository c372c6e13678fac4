// The dashboard: pending requests, how people decide, and findings.
import { useQuery } from '@tanstack/react-query';
import { ChartColumn, Download, X } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { insightsPath, insightsQuery, meQuery, statsQuery } from '../api/queries.ts';
import { apiUrl } from '../api/request.ts';
import type { Insights, Stats } from '../api/wire.ts';
import { PageHeader } from '../frame/page-header.tsx';
import { Empty, Loading, Trouble } from '../frame/placeholders.tsx';
import { useNow } from '../live/now.ts';
import { exactly, roughly } from '../live/time.tsx';
import { Undelivered } from '../notices/undelivered.tsx';
import { ChoiceMenu, named } from '../primitives/choice-menu.tsx';
import { CarriedByGrants, Drills, QuickApprovers } from './checks.tsx';
import { DayChart } from './day-chart.tsx';
import { approvalRate, GroupTable, percent } from './group-table.tsx';
import { Load } from './load.tsx';
import { lasted, TimeChart } from './time-chart.tsx';
import { GROUPS, PERIODS, type UseSelection, useSelection } from './use-selection.ts';

export default function DashboardPage() {
  const selection = useSelection();
  const { filters, change } = selection;
  const stats = useQuery(statsQuery(filters.days));
  const insights = useQuery(insightsQuery(filters));
  const me = useQuery(meQuery);
  const error = stats.error ?? insights.error;
  return (
    <>
      <PageHeader title="Dashboard">
        <ChoiceMenu
          label="Period"
          value={`${filters.days}`}
          choices={PERIODS.map((period) => ({ value: `${period}`, label: `Last ${period} days` }))}
          onChange={(days) => change({ days })}
        />
        <a className="button" href={apiUrl(insightsPath('insights.csv', filters))} download="countersign-insights.csv">
          <Download aria-hidden="true" className="size-4" />
          <span className="max-md:sr-only">Export CSV</span>
        </a>
      </PageHeader>
      <div className="flex min-h-0 flex-1 flex-col overflow-y-auto">
        {me.data?.reach === 'all' && (
          <div className="mx-auto w-full max-w-5xl px-4 pt-5 empty:hidden md:px-6">
            <Undelivered />
          </div>
        )}
        {stats.data && insights.data ? (
          <Numbers stats={stats.data} insights={insights.data} selection={selection} isOwn={me.data?.reach === 'own'} />
        ) : error ? (
          <Trouble
            error={error}
            what="The dashboard"
            onRetry={() => {
              void stats.refetch();
              void insights.refetch();
            }}
          />
        ) : (
          <div className="p-6">
            <Loading what="the dashboard" />
          </div>
        )}
      </div>
    </>
  );
}

type NumbersProps = {
  readonly stats: Stats;
  readonly insights: Insights;
  readonly selection: UseSelection;
  readonly isOwn: boolean;
};

/** A person with reach `own` sees numbers of their own runs only, even if they can decide others. The page says so. */
function Numbers({ stats, insights, selection, isOwn }: NumbersProps) {
  const { by, change, isFiltered } = selection;
  const { quick, drills, grants, isComplete } = insights;
  const isEmpty = insights.total.requests === 0;
  const group = GROUPS[by];
  const isUnused = stats.waiting === 0 && insights.observed === 0 && drills.people.length === 0;
  if (isUnused && isEmpty && !isFiltered) return <NoData isOwn={isOwn} />;
  const groups = insights[group.of];
  const waiting = new Map(stats.tools.map(({ tool, waiting }) => [tool, waiting]));
  return (
    <div className="mx-auto flex w-full max-w-5xl flex-col gap-5 px-4 py-5 md:px-6">
      <Filters insights={insights} selection={selection} />
      {isOwn && <p className="text-sm text-muted">Only runs you started.</p>}
      {!isComplete && (
        <p className="text-sm text-muted">
          Only the newest requests are counted, settled since {exactly(insights.since)}.
        </p>
      )}
      <Tiles stats={stats} insights={insights} selection={selection} />
      {quick.length > 0 && <QuickApprovers quick={quick} />}
      {isEmpty && isFiltered ? (
        <p className="panel p-6 text-center text-muted">No settled requests match these filters.</p>
      ) : (
        <>
          <Panel id="per-day" title="Decisions per day">
            <DayChart days={insights.days} />
          </Panel>
          <Panel
            id="time"
            title="Time to decide"
            aside={<GroupChoice by={by} onChange={(next) => change({ by: next })} />}
          >
            <TimeChart by={by} groups={groups} none={group.none} />
          </Panel>
          {groups.length > 0 && (
            <Panel id="outcomes" title={`Outcomes by ${by}`}>
              <GroupTable
                name={group.name}
                groups={groups}
                isMono={by === 'tool'}
                {...(by === 'tool' && { waiting })}
              />
            </Panel>
          )}
          {insights.load.length > 0 && (
            <Panel id="load" title="Load by person and hour">
              <Load hours={insights.hours} load={insights.load} />
            </Panel>
          )}
        </>
      )}
      {(drills.people.length > 0 || drills.expired > 0) && (
        <Panel id="drills" title="Drills">
          <p className="mb-3 text-muted">Requests that had to be rejected. No other figure counts them.</p>
          <Drills drills={drills} />
        </Panel>
      )}
      {insights.observed > 0 && (
        <Panel id="observed" title="Would have asked">
          <p className="text-muted">
            <strong className="text-ink tabular-nums">{count(insights.observed)}</strong> calls ran unasked, and rules
            that only observe would have asked about them.{' '}
            <Link href="/history?outcome=observed" className="underline underline-offset-2">
              View the calls
            </Link>
          </p>
        </Panel>
      )}
      {grants.length > 0 && (
        <Panel id="grants" title="Carried by grants">
          <CarriedByGrants grants={grants} />
        </Panel>
      )}
      <p className="text-xs text-muted">
        Counts requests that were settled in the period, in the runs you can access. Days are in UTC, hours in your time
        zone.
      </p>
    </div>
  );
}

function NoData({ isOwn }: { readonly isOwn: boolean }) {
  return (
    <Empty icon={ChartColumn} title={isOwn ? 'No numbers for you' : 'No data yet'}>
      {isOwn
        ? 'Only runs that you started are counted, and none of them had a request in this period. Numbers of all runs need the right to see them.'
        : 'Numbers appear here after the first decisions.'}
      <div className="mt-4">
        <Link href="/" className="button">
          Open the inbox
        </Link>
      </div>
    </Empty>
  );
}

function Filters({ insights: { choices }, selection }: Pick<NumbersProps, 'insights' | 'selection'>) {
  const { filters, change, isFiltered, clear } = selection;
  const facets = [
    { name: 'tool', label: 'Tool', all: 'All tools', values: choices.tools },
    { name: 'person', label: 'Person', all: 'All people', values: choices.people },
    { name: 'policy', label: 'Policy', all: 'All policies', values: choices.policies },
  ] as const;
  return (
    <div className="flex flex-wrap items-center gap-1.5">
      {facets
        .filter(({ name, values }) => values.length > 0 || filters[name] !== '')
        .map(({ name, label, all, values }) => (
          <ChoiceMenu
            key={name}
            label={label}
            value={filters[name]}
            choices={[{ value: '', label: all }, ...values.map(named)]}
            onChange={(value) => change({ [name]: value })}
            className="filter-chip"
            isActive={filters[name] !== ''}
          />
        ))}
      {isFiltered && (
        <button
          type="button"
          className="inline-flex h-7 items-center gap-1 px-1.5 text-xs text-muted hover:text-ink max-md:h-11"
          onClick={clear}
        >
          <X aria-hidden="true" className="size-3.5" />
          Clear filters
        </button>
      )}
    </div>
  );
}

function Tiles({ stats, insights: { total }, selection }: Pick<NumbersProps, 'stats' | 'insights' | 'selection'>) {
  const now = useNow();
  const { filters } = selection;
  const ofTool = stats.tools.find(({ tool }) => tool === filters.tool)?.waiting ?? 0;
  const waiting = filters.tool === '' ? stats.waiting : ofTool;
  const edits = total.approved === 0 ? undefined : total.edited / total.approved;
  return (
    <dl className="grid grid-cols-2 gap-3 md:grid-cols-3 lg:grid-cols-6">
      <Tile name="Waiting now" value={count(waiting)}>
        {stats.oldestWaitingAt !== null && waiting > 0 && (
          <Link
            href={filters.tool === '' ? '/' : `/?tool=${encodeURIComponent(filters.tool)}`}
            className="underline underline-offset-2 max-md:-my-3 max-md:inline-flex max-md:min-h-11 max-md:items-center"
          >
            {filters.tool === '' ? `Oldest: ${roughly(Math.max(now - stats.oldestWaitingAt, 0))}` : 'Open the inbox'}
          </Link>
        )}
      </Tile>
      <Tile name="Decided" value={count(total.decided)}>
        in {filters.days} days
      </Tile>
      <Tile name="Time to decide" value={lasted(total.medianMs)}>
        median
      </Tile>
      <Tile name="Time to decide" value={lasted(total.p90Ms)}>
        90th percentile
      </Tile>
      <Tile name="Approved" value={percent(approvalRate(total))}>
        of approved and rejected{edits !== undefined && `, ${percent(edits)} edited`}
      </Tile>
      <Tile name="Expired" value={count(total.expired)}>
        {total.requests > 0 && `${percent(total.expired / total.requests)} of settled`}
      </Tile>
    </dl>
  );
}

const count = (value: number): string => value.toLocaleString();

type TileProps = { readonly name: string; readonly value: string; readonly children?: ReactNode };

function Tile({ name, value, children }: TileProps) {
  return (
    <div className="panel flex flex-col gap-0.5 p-4">
      <dt className="text-xs text-muted">{name}</dt>
      <dd className="text-2xl font-semibold tracking-tight whitespace-nowrap tabular-nums max-lg:text-xl lg:text-xl">
        {value}
      </dd>
      <dd className="text-xs text-muted">{children}</dd>
    </div>
  );
}

type PanelProps = {
  readonly id: string;
  readonly title: string;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
};

function Panel({ id, title, aside, children }: PanelProps) {
  return (
    <section aria-labelledby={id} className="panel min-w-0 p-4">
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <h2 id={id} className="font-semibold">
          {title}
        </h2>
        <div className="ml-auto">{aside}</div>
      </div>
      {children}
    </section>
  );
}

type GroupChoiceProps = { readonly by: UseSelection['by']; readonly onChange: (by: UseSelection['by']) => void };

function GroupChoice({ by, onChange }: GroupChoiceProps) {
  return (
    <fieldset className="inline-flex rounded-md border border-line p-0.5">
      <legend className="sr-only">Group by</legend>
      {Object.entries(GROUPS).map(([value, { name }]) => (
        <button
          key={value}
          type="button"
          aria-pressed={by === value}
          className="h-6 rounded px-2 text-xs font-medium text-muted hover:text-ink aria-pressed:bg-sunken aria-pressed:text-ink max-md:h-10"
          onClick={() => onChange(value as UseSelection['by'])}
        >
          {name}
        </button>
      ))}
    </fieldset>
  );
}
