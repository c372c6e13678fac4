// The runs: every conversation with an agent, as a table.
import { inWords, VisibleText } from '@countersign/react';
import { useQuery } from '@tanstack/react-query';
import { Workflow } from 'lucide-react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { useGrowingList } from '../api/growing-list.ts';
import { agentsQuery, meQuery } from '../api/queries.ts';
import type { RunSummary } from '../api/wire.ts';
import { SearchField } from '../filters/filter-bar.tsx';
import { PageHeader } from '../frame/page-header.tsx';
import { Empty, Loading, Trouble } from '../frame/placeholders.tsx';
import { useNow } from '../live/now.ts';
import { Ago, duration } from '../live/time.tsx';
import { ChoiceMenu, named } from '../primitives/choice-menu.tsx';
import { LoadMore } from '../primitives/load-more.tsx';
import { isOver, STATUS_NAMES, StatusMark } from './run-status.tsx';
import { Tokens } from './tokens.tsx';

const NAMES = ['status', 'agent', 'search'] as const;

export default function RunsPage() {
  const [params, setParams] = useSearchParams();
  const [status, agent, search] = NAMES.map((name) => params.get(name) ?? '') as [string, string, string];
  const list = useGrowingList<RunSummary>('runs', 'runs', {
    order: 'newest',
    ...(status !== '' && { status }),
    ...(agent !== '' && { agent }),
    ...(search !== '' && { search }),
  });
  const { data: agents } = useQuery(agentsQuery);
  const found = list.items;
  const isFiltered = status !== '' || agent !== '' || search !== '';

  function change(name: (typeof NAMES)[number], value: string) {
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        if (value === '') next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  }

  return (
    <>
      <PageHeader title="Runs">
        {found && found.length > 0 && (
          <p className="text-xs text-muted tabular-nums">
            {found.length} {found.length === 1 ? 'run' : 'runs'}
            {list.hasMore && ' shown'}
          </p>
        )}
      </PageHeader>
      <div className="flex shrink-0 flex-wrap items-center gap-2 border-b border-line px-4 py-2.5">
        <div className="w-full md:w-72">
          <SearchField
            value={search}
            onChange={(value) => change('search', value)}
            placeholder="Search title, request or id"
          />
        </div>
        <ChoiceMenu
          label="Status"
          value={status}
          choices={[{ value: '', label: 'Any status' }, ...STATUS_NAMES]}
          onChange={(value) => change('status', value)}
          isActive={status !== ''}
          className="filter-chip"
        />
        {(agent !== '' || (agents?.items.length ?? 0) > 1) && (
          <ChoiceMenu
            label="Agent"
            value={agent}
            choices={[{ value: '', label: 'Any agent' }, ...(agents?.items ?? []).map(({ name }) => named(name))]}
            onChange={(value) => change('agent', value)}
            isActive={agent !== ''}
            className="filter-chip"
          />
        )}
        {isFiltered && (
          <button
            type="button"
            className="h-7 px-1.5 text-xs text-muted hover:text-ink max-md:h-11"
            onClick={() => setParams(new URLSearchParams(), { replace: true })}
          >
            Clear filters
          </button>
        )}
      </div>
      <div className="flex min-h-0 flex-1 flex-col overflow-y-auto">
        {list.error && !list.items ? (
          <Trouble error={list.error} what="The runs" onRetry={list.retry} />
        ) : !found ? (
          <div className="p-4">
            <Loading what="the runs" rows={8} />
          </div>
        ) : found.length === 0 ? (
          <NoRuns isFiltered={isFiltered} onClear={() => setParams(new URLSearchParams(), { replace: true })} />
        ) : (
          <RunTable runs={found} />
        )}
        <LoadMore list={list} className="m-3 shrink-0 self-center" />
      </div>
    </>
  );
}

function NoRuns({ isFiltered, onClear }: { readonly isFiltered: boolean; readonly onClear: () => void }) {
  const { data: me } = useQuery(meQuery);
  const isOwn = me?.reach === 'own';
  return (
    <Empty icon={Workflow} title={isFiltered ? 'No matches' : isOwn ? 'No runs that you can see' : 'No runs yet'}>
      {!isFiltered &&
        (isOwn
          ? 'You see the runs that you started, and those with requests that you can decide.'
          : 'A run is one conversation with an agent, from the first message to the result.')}
      <div className="mt-4">
        {isFiltered ? (
          <button type="button" className="button" onClick={onClear}>
            Clear filters
          </button>
        ) : (
          me?.scopes.includes('start') && (
            <Link href="/chat" className="button">
              Start a chat with an agent
            </Link>
          )
        )}
      </div>
    </Empty>
  );
}

/** Columns where there is room; on a phone each run is a few lines. */
function RunTable({ runs }: { readonly runs: readonly RunSummary[] }) {
  const hasTokens = runs.some(({ usage }) => usage !== null);
  const columns = ['Run', 'Status', 'Agent', 'Started by', 'Started', 'Duration', ...(hasTokens ? ['Tokens'] : [])];
  return (
    <table className="w-full text-left max-md:block">
      <thead className="text-xs text-muted max-md:hidden">
        <tr>
          {columns.map((title) => (
            <th
              key={title}
              scope="col"
              className="sticky top-0 z-10 border-b border-line bg-canvas px-3 py-2 font-medium whitespace-nowrap first:pl-4"
            >
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody className="max-md:block">
        {runs.map((run) => (
          <RunRow key={run.id} run={run} hasTokens={hasTokens} />
        ))}
      </tbody>
    </table>
  );
}

const CELL = 'px-3 py-2 align-top whitespace-nowrap text-muted max-md:p-0';

function RunRow({ run, hasTokens }: { readonly run: RunSummary; readonly hasTokens: boolean }) {
  const { id, agent, title, status, startedBy, createdAt, updatedAt, usage, waitsFor, failures } = run;
  const now = useNow();
  const [, navigate] = useLocation();
  const href = `/runs/${encodeURIComponent(id)}`;
  return (
    // The link in the first cell is the way for the keyboard; a click anywhere in the row is a shortcut to it.
    <tr
      className="cursor-pointer border-b border-line hover:bg-sunken max-md:flex max-md:flex-wrap max-md:gap-x-3 max-md:gap-y-1 max-md:px-4 max-md:py-3 max-md:text-xs"
      onClick={({ target }) => !(target instanceof Element && target.closest('a')) && navigate(href)}
    >
      <td className="w-full max-w-0 px-3 py-2 pl-4 max-md:w-full max-md:max-w-none max-md:p-0">
        <Link href={href} className="block min-w-0">
          <span className="block truncate text-sm font-medium">
            <VisibleText text={title ?? agent} />
          </span>
          <span className="block truncate text-xs text-muted">
            {waitsFor && (
              <>
                <span className="sr-only">Waits for </span>
                <VisibleText text={waitsFor.title ?? inWords(waitsFor.tool)} className="text-ink" />
                {' · '}
              </>
            )}
            <VisibleText text={id} className="font-mono" />
          </span>
        </Link>
      </td>
      <td className={`${CELL} text-ink`}>
        <StatusMark status={status} failures={failures} />
      </td>
      <td className={`${CELL} max-w-40 truncate`}>
        <VisibleText text={agent} />
      </td>
      <td className={`${CELL} max-w-40 truncate max-md:empty:hidden`}>
        {startedBy !== null && <VisibleText text={startedBy} />}
      </td>
      <td className={CELL}>
        <Ago at={createdAt} />
      </td>
      <td className={`${CELL} tabular-nums`}>{duration(Math.max((isOver(run) ? updatedAt : now) - createdAt, 0))}</td>
      {hasTokens && (
        <td className={`${CELL} tabular-nums max-md:empty:hidden`}>
          {usage && <Tokens usage={usage} unitClass="md:sr-only" />}
        </td>
      )}
    </tr>
  );
}
