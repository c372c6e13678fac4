// Starts a chat with an agent, or continues an earlier one.
import { VisibleText } from '@countersign/react';
import { useQuery } from '@tanstack/react-query';
import { Bot, MessageSquarePlus } from 'lucide-react';
import { Link, Redirect } from 'wouter';
import { useGrowingList } from '../api/growing-list.ts';
import { agentsQuery, meQuery } from '../api/queries.ts';
import type { AgentInfo, RunSummary } from '../api/wire.ts';
import { PageHeader } from '../frame/page-header.tsx';
import { Empty, Loading, Trouble } from '../frame/placeholders.tsx';
import { Ago } from '../live/time.tsx';
import { StatusMark } from '../runs/run-status.tsx';
import { chatPath, newChatPath } from './chat-path.ts';

export default function StartPage() {
  const agents = useQuery(agentsQuery);
  const { data: me } = useQuery(meQuery);
  const recent = useGrowingList<RunSummary>('runs', 'runs', {
    order: 'newest',
    ...(me && { startedBy: me.id }),
  });
  const [only, ...others] = agents.data?.items ?? [];
  const isOnly = only !== undefined && others.length === 0;
  // With one agent and nothing to continue, there is nothing to choose.
  if (isOnly && me && recent.items?.length === 0) return <Redirect to={newChatPath(only.name)} replace />;
  return (
    <>
      <PageHeader title="Chat">
        {isOnly && (
          <Link href={newChatPath(only.name)} className="button-primary">
            <MessageSquarePlus aria-hidden="true" className="size-4" />
            New chat
          </Link>
        )}
      </PageHeader>
      <div className="flex min-h-0 flex-1 flex-col overflow-y-auto">
        {agents.data ? (
          <div className="mx-auto flex w-full max-w-3xl flex-col gap-8 px-4 py-6 md:px-6">
            {!isOnly && <Agents agents={agents.data.items} />}
            {me && <Recent items={recent.items ?? []} />}
          </div>
        ) : agents.error ? (
          <Trouble error={agents.error} what="The agents" onRetry={() => void agents.refetch()} />
        ) : (
          <div className="p-6">
            <Loading what="the agents" />
          </div>
        )}
      </div>
    </>
  );
}

function Agents({ agents }: { readonly agents: readonly AgentInfo[] }) {
  if (agents.length === 0)
    return (
      <Empty icon={Bot} title="No agents are defined">
        Define one with <code className="font-mono">ai.defineAgent</code> and it appears here.
      </Empty>
    );
  return (
    <section aria-labelledby="agents">
      <h2 id="agents" className="mb-3 font-semibold">
        Chat with an agent
      </h2>
      <ul className="grid gap-3 sm:grid-cols-2">
        {agents.map(({ name, description, tools }) => (
          <li key={name}>
            <Link href={newChatPath(name)} className="panel flex h-full flex-col gap-1 p-4 hover:border-edge">
              <span className="flex items-center gap-2 font-medium">
                <span className="min-w-0 wrap-anywhere">
                  <VisibleText text={name} />
                </span>
                <MessageSquarePlus aria-hidden="true" className="ml-auto size-4 shrink-0 text-muted" />
              </span>
              {description && (
                <span className="line-clamp-3 text-muted">
                  <VisibleText text={description} />
                </span>
              )}
              <span className="mt-1 text-xs text-muted wrap-anywhere">{asking(tools)}</span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

function asking(tools: AgentInfo['tools']): string {
  const asks = tools.filter((tool) => tool.asks !== 'never').map(({ name }) => name);
  return asks.length === 0 ? 'Runs without asking' : `Asks before: ${asks.join(', ')}`;
}

function Recent({ items }: { readonly items: readonly RunSummary[] }) {
  if (items.length === 0) return null;
  return (
    <section aria-labelledby="recent">
      <h2 id="recent" className="mb-3 font-semibold">
        Continue
      </h2>
      <ul className="panel divide-y divide-line overflow-hidden">
        {items.slice(0, 8).map(({ id, agent, title, status, updatedAt, failures }) => (
          <li key={id}>
            <Link
              href={chatPath(agent, id)}
              className="flex items-center gap-3 px-4 py-2.5 -outline-offset-2 hover:bg-sunken"
            >
              <span className="flex min-w-0 flex-1 flex-col">
                <span className="truncate">
                  <VisibleText text={title ?? agent} />
                </span>
                {title !== null && (
                  <span className="truncate text-xs text-muted">
                    <VisibleText text={agent} />
                  </span>
                )}
              </span>
              <StatusMark status={status} failures={failures} />
              <Ago at={updatedAt} className="w-20 text-right text-xs text-muted" />
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
