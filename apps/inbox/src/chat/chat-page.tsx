// A chat with an agent: loads the conversation, then continues it.
import { People, VisibleText } from '@countersign/react';
import { useQuery } from '@tanstack/react-query';
import type { UIMessage } from 'ai';
import { ArrowLeft, SquarePen } from 'lucide-react';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { agentsQuery, meQuery, runNamesQuery } from '../api/queries.ts';
import { Refusal, request } from '../api/request.ts';
import { Loading, NothingHere, Trouble } from '../frame/placeholders.tsx';
import { Chat } from './chat.tsx';
import { chatPath, newChatId, newChatPath } from './chat-path.ts';

type Loaded = { readonly status: string; readonly messages: UIMessage[] };

type ChatPageProps = { readonly agent: string; readonly id: string | undefined };

/** Without an id the chat is new, and the server knows nothing of it yet. */
export default function ChatPage({ agent, id }: ChatPageProps) {
  const [fresh, setFresh] = useState({ id: newChatId(), before: id });
  // From a chat to a new one.
  if (id === undefined && fresh.before !== undefined) setFresh({ id: newChatId(), before: undefined });
  if (id !== undefined && fresh.before !== id) setFresh({ id: fresh.id, before: id });
  const chatId = id ?? fresh.id;
  return <OneChat key={chatId} agent={agent} id={chatId} isNew={id === undefined || id === fresh.id} />;
}

type OneChatProps = { readonly agent: string; readonly id: string; readonly isNew: boolean };

function OneChat({ agent, id, isNew }: OneChatProps) {
  const { data: me } = useQuery(meQuery);
  const { data: agents } = useQuery(agentsQuery);
  const [, navigate] = useLocation();
  const isUnknown = agents !== undefined && !agents.items.some(({ name }) => name === agent);
  const chat = useQuery({
    queryKey: ['chat', agent, id],
    queryFn: ({ signal }) => load(agent, id, signal),
    enabled: !isNew,
    ...(isNew && { initialData: NOTHING_SAID }),
    // From here on the chat component owns the messages.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const [isAnswered, setAnswered] = useState(false);
  const names = useQuery({ ...runNamesQuery(id), enabled: !isNew || isAnswered });
  return (
    <>
      <div className="flex min-h-13 shrink-0 items-center gap-2 border-b border-line px-2 py-1.5 md:px-6">
        <Link href="/chat" className="button-quiet">
          <ArrowLeft aria-hidden="true" className="size-5" />
          <span className="sr-only">All chats</span>
        </Link>
        <h1 className="min-w-0 truncate text-base font-semibold tracking-tight">
          <VisibleText text={agent} />
        </h1>
        {me && (
          <span
            className="chip max-sm:hidden"
            title={me.demo ? 'No API key is set, so a stand-in picks tools by the words of your message.' : undefined}
          >
            <span className="truncate">{me.demo ? 'Stand-in model' : me.model}</span>
          </span>
        )}
        <span className="ml-auto flex gap-2">
          {(isAnswered || (chat.data && chat.data.messages.length > 0)) && (
            <Link href={`/runs/${encodeURIComponent(id)}`} className="button">
              View run
            </Link>
          )}
          <Link href={newChatPath(agent)} className="button" aria-label="New chat">
            <SquarePen aria-hidden="true" className="size-4" />
            <span className="max-sm:hidden">New chat</span>
          </Link>
        </span>
      </div>
      {isUnknown ? (
        <NothingHere what="No agent has this name">
          <Link href="/chat" className="button">
            All agents
          </Link>
        </NothingHere>
      ) : chat.data ? (
        <People names={names.data}>
          <Chat
            agent={agent}
            id={id}
            loaded={chat.data.messages}
            isRunning={chat.data.status === 'running'}
            onBegin={() => isNew && navigate(chatPath(agent, id), { replace: true })}
            onAnswer={() => setAnswered(true)}
          />
        </People>
      ) : chat.error ? (
        <Trouble error={chat.error} what="This chat" onRetry={() => void chat.refetch()} />
      ) : (
        <div className="mx-auto w-full max-w-3xl p-6">
          <Loading what="the chat" />
        </div>
      )}
    </>
  );
}

const NOTHING_SAID: Loaded = { status: 'new', messages: [] };

/** A chat without messages yet is empty. */
async function load(agent: string, id: string, signal: AbortSignal): Promise<Loaded> {
  try {
    return await request<Loaded>(`chat/${encodeURIComponent(agent)}/${encodeURIComponent(id)}`, { signal });
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return NOTHING_SAID;
    throw error;
  }
}
