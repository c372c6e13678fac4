// The runs: every conversation with an agent, newest first.
import { VisibleText } from '@countersign/react';
import { useQuery } from '@tanstack/react-query';
import { Workflow } from 'lucide-react';
import { Link, useSearchParams } from 'wouter';
import { useGrowingList } from '../api/growing-list.ts';
import { agentsQuery } from '../api/queries.ts';
import type { RunSummary } from '../api/wire.ts';
import { PageHeader } from '../frame/page-header.tsx';
import { Empty, Loading, Trouble } from '../frame/placeholders.tsx';
import { Ago, duration } from '../live/time.tsx';
import { isOver, STATUS_NAMES, StatusMark } from './run-status.tsx';

export default function RunsPage() {
  const [params, setParams] = useSearchParams();
  const status = params.get('status') ?? '';
  const agent = params.get('agent') ?? '';
  const list = useGrowingList<RunSummary>('runs', 'runs', {
    order: 'newest',
    ...(status !== '' && { status }),
    ...(agent !== '' && { agent }),
  });
  const { data: agents } = useQuery(agentsQuery);

  function change(name: string, value: string) {
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
      <PageHeader title="Runs" isWide>
        <select
          aria-label="Status"
          className="field"
          value={status}
          onChange={({ target }) => change('status', target.value)}
        >
          <option value="">Any status</option>
          {STATUS_NAMES.map(({ value, word }) => (
            <option key={value} value={value}>
              {word}
            </option>
          ))}
        </select>
        <select
          aria-label="Agent"
          className="field min-w-0 md:max-w-48"
          value={agent}
          onChange={({ target }) => change('agent', target.value)}
        >
          <option value="">Any agent</option>
          {agents?.items.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </PageHeader>
      <div className="flex min-h-0 flex-1 flex-col overflow-y-auto">
        {list.error && !list.items ? (
          <Trouble error={list.error} what="The runs" onRetry={list.retry} />
        ) : !list.items ? (
          <div className="p-4">
            <Loading what="the runs" rows={6} />
          </div>
        ) : list.items.length === 0 ? (
          <Empty icon={Workflow} title={status || agent ? 'No matches' : 'No runs yet'}>
            {!status && !agent && (
              <Link href="/chat" className="underline underline-offset-2">
                Start a chat with an agent
              </Link>
            )}
          </Empty>
        ) : (
          <ul>
            {list.items.map((run) => (
              <RunRow key={run.id} run={run} />
            ))}
          </ul>
        )}
        {list.hasMore && (
          <button type="button" className="button m-3 shrink-0" onClick={list.loadMore}>
            {list.isLoadingMore ? 'Loading…' : 'Load more'}
          </button>
        )}
      </div>
    </>
  );
}

function RunRow({ run }: { readonly run: RunSummary }) {
  const { id, agent, title, status, startedBy, createdAt, updatedAt } = run;
  return (
    <li className="row border-b border-line">
      <Link
        href={`/runs/${encodeURIComponent(id)}`}
        className="flex flex-col gap-1 px-4 py-2.5 -outline-offset-2 hover:bg-sunken"
      >
        <span className="flex items-baseline gap-3">
          <span className="min-w-0 truncate font-medium">
            <VisibleText text={title ?? agent} />
          </span>
          <Ago at={createdAt} className="ml-auto shrink-0 text-xs text-muted" />
        </span>
        <span className="flex min-w-0 items-baseline gap-x-3 text-xs text-muted">
          <span className="text-ink">
            <StatusMark status={status} />
          </span>
          {title !== null && (
            <span className="max-w-1/3 shrink-0 truncate">
              <VisibleText text={agent} />
            </span>
          )}
          {startedBy !== null && (
            <span className="min-w-0 truncate">
              by <VisibleText text={startedBy} />
            </span>
          )}
          {isOver(run) && <span className="shrink-0">{duration(Math.max(updatedAt - createdAt, 0))}</span>}
          <span className="ml-auto hidden min-w-0 truncate font-mono md:inline">
            <VisibleText text={id} />
          </span>
        </span>
      </Link>
    </li>
  );
}
