// A chat with an agent: loads the conversation, then continues it.
import { VisibleText } from '@countersign/react';
import { useQuery } from '@tanstack/react-query';
import type { UIMessage } from 'ai';
import { ArrowLeft, SquarePen } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { agentsQuery, meQuery } from '../api/queries.ts';
import { Refusal, request } from '../api/request.ts';
import { Loading, NothingHere, Trouble } from '../frame/placeholders.tsx';
import { Chat } from './chat.tsx';
import { newChatPath } from './start-page.tsx';

type Loaded = { readonly status: string; readonly messages: UIMessage[] };

type ChatPageProps = { readonly agent: string; readonly id: string };

export default function ChatPage({ agent, id }: ChatPageProps) {
  const { data: me } = useQuery(meQuery);
  const { data: agents } = useQuery(agentsQuery);
  const isUnknown = agents !== undefined && !agents.items.some(({ name }) => name === agent);
  const chat = useQuery({
    queryKey: ['chat', agent, id],
    queryFn: ({ signal }) => load(agent, id, signal),
    // From here on the chat component owns the messages.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const [isAnswered, setAnswered] = useState(false);
  return (
    <>
      <div className="flex min-h-12 shrink-0 items-center gap-2 border-b border-line px-2 py-2 md:px-6">
        <Link href="/chat" className="button-quiet" title="All chats">
          <ArrowLeft aria-hidden="true" className="size-5" />
          <span className="sr-only">All chats</span>
        </Link>
        <h1 className="min-w-0 truncate text-base font-semibold tracking-tight">
          <VisibleText text={agent} />
        </h1>
        {me && (
          <span className="chip shrink" title={me.demo ? 'No API key is set, so replies are scripted.' : undefined}>
            <span className="truncate">{me.demo ? 'Demo model' : me.model}</span>
          </span>
        )}
        <span className="ml-auto flex gap-2">
          {(isAnswered || (chat.data && chat.data.messages.length > 0)) && (
            <Link href={`/runs/${encodeURIComponent(id)}`} className="button">
              View run
            </Link>
          )}
          <Link href={newChatPath(agent)} className="button" title="New chat">
            <SquarePen aria-hidden="true" className="size-4" />
            <span className="sr-only sm:not-sr-only">New</span>
          </Link>
        </span>
      </div>
      {isUnknown ? (
        <NothingHere what="No agent has this name." />
      ) : chat.data ? (
        <Chat
          agent={agent}
          id={id}
          loaded={chat.data.messages}
          isRunning={chat.data.status === 'running'}
          onAnswer={() => setAnswered(true)}
        />
      ) : chat.error ? (
        <Trouble error={chat.error} what="This chat" onRetry={() => void chat.refetch()} />
      ) : (
        <div className="p-6">
          <Loading what="the chat" />
        </div>
      )}
    </>
  );
}

/** A chat without messages yet is empty. */
async function load(agent: string, id: string, signal: AbortSignal): Promise<Loaded> {
  try {
    return await request<Loaded>(`chat/${encodeURIComponent(agent)}/${encodeURIComponent(id)}`, { signal });
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return { status: 'new', messages: [] };
    throw error;
  }
}
