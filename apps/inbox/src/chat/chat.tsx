// The conversation: `useChat` for messages, `useRequests` for pending requests.
import { useChat } from '@ai-sdk/react';
import { inWords, Requests, useRequests, VisibleText } from '@countersign/react';
import { useQuery } from '@tanstack/react-query';
import { DefaultChatTransport, type UIMessage } from 'ai';
import { MessageSquare, RefreshCw } from 'lucide-react';
import { useEffect, useMemo, useRef } from 'react';
import { agentsQuery, meQuery } from '../api/queries.ts';
import { apiUrl, Refusal } from '../api/request.ts';
import { Empty } from '../frame/placeholders.tsx';
import { NotedCard } from '../inbox/noted-card.tsx';
import { Composer } from './composer.tsx';
import { MessageView } from './message-view.tsx';
import { patientFetch } from './patient-fetch.ts';
import { WaitingMessage } from './waiting-message.tsx';

type ChatProps = {
  readonly agent: string;
  readonly id: string;
  readonly loaded: UIMessage[];
  /** The answer was still being written when the chat was loaded. */
  readonly isRunning: boolean;
  /** The user has said the first words. */
  readonly onBegin: () => void;
  /** The agent has begun to answer: from here on there is a run. */
  readonly onAnswer: () => void;
};

export function Chat({ agent, id, loaded, isRunning, onBegin, onAnswer }: ChatProps) {
  const api = apiUrl(`chat/${encodeURIComponent(agent)}`);
  const chat = useChat({ id, messages: loaded, transport: useTransport(api), resume: isRunning });
  const requests = useRequests(chat, { api });
  const input = useRef<HTMLTextAreaElement>(null);
  const { messages, status, error } = chat;
  const isBusy = status === 'submitted' || status === 'streaming';
  const scroller = useFollow(messages, requests.requests);

  const pending = useMemo(() => new Set(requests.requests.map(({ id }) => id)), [requests.requests]);
  const isAnswered = messages.some(({ role }) => role === 'assistant');
  // biome-ignore lint/correctness/useExhaustiveDependencies: told once.
  useEffect(() => {
    if (isAnswered) onAnswer();
  }, [isAnswered]);

  // A message that waits stands before the answer that it waits for, which the stream sends again under its id.
  const shown = useMemo(
    () => [...new Map(messages.toReversed().map((one) => [one.id, one])).values()].toReversed(),
    [messages],
  );

  const say = (text: string) => {
    chat.clearError();
    onBegin();
    void chat.sendMessage({ text });
  };

  return (
    <div
      ref={scroller}
      className="flex min-h-0 flex-1 flex-col overflow-y-auto [--cs-bottom-bar:95px] max-md:[--cs-bottom-bar:107px]"
    >
      <div className="mx-auto flex w-full max-w-3xl flex-1 flex-col px-4 md:px-6">
        {messages.length === 0 ? (
          <Greeting agent={agent} onSay={say} />
        ) : (
          <div role="log" aria-label="Conversation" aria-busy={isBusy} className="flex flex-col gap-5 pt-6 pb-4">
            {shown.map((message) => (
              <MessageView key={message.id} message={message} pending={pending} />
            ))}
            {status === 'submitted' && (
              <p role="status" className="text-muted motion-safe:animate-pulse">
                Thinking…
              </p>
            )}
          </div>
        )}
        <Requests
          requests={requests}
          returnFocus={input}
          className="chat-cards"
          renderCard={(request, actions) => <NotedCard request={request} actions={actions} headingLevel={2} />}
        />
        {requests.messageWaits && !isBusy && <WaitingMessage requests={requests} />}
        {error && !isBusy && (
          <div
            role="alert"
            className="mb-4 flex flex-wrap items-center justify-between gap-3 rounded-md bg-danger-soft px-3 py-2 text-danger"
          >
            {isFinal(error) ? (
              <p>
                <VisibleText text={error.message} />
              </p>
            ) : (
              <>
                <p>Connection dropped. Nothing was lost or run twice.</p>
                <button type="button" className="button" onClick={() => void chat.sendMessage()}>
                  <RefreshCw aria-hidden="true" className="size-4" />
                  Try again
                </button>
              </>
            )}
          </div>
        )}
      </div>
      <Composer input={input} isBusy={isBusy} requests={requests} onSend={say} />
    </div>
  );
}

/** The server keeps the conversation. The page sends only the last message, which shows how much it already has. */
function useTransport(api: string) {
  return useMemo(
    () =>
      new DefaultChatTransport<UIMessage>({
        api,
        fetch: answered,
        headers: { 'x-countersign-channel': 'chat' },
        prepareSendMessagesRequest: ({ id, messages, trigger, messageId, body }) => ({
          body: { ...body, id, trigger, messageId, messages: messages.slice(-1) },
        }),
      }),
    [api],
  );
}

/** Rejects with a {@link Refusal} where the server says why it does not answer. */
async function answered(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const response = await patientFetch(input, init);
  if (!response.headers.get('content-type')?.startsWith('application/problem+json')) return response;
  throw new Refusal(response.status, await response.json());
}

/** These may be answered the next time; all others are refused again. */
const PASSING: ReadonlySet<number> = new Set([408, 409, 429]);

const isFinal = (error: Error): boolean => error instanceof Refusal && error.status < 500 && !PASSING.has(error.status);

type GreetingProps = { readonly agent: string; readonly onSay: (text: string) => void };

function Greeting({ agent, onSay }: GreetingProps) {
  const { data: agents } = useQuery(agentsQuery);
  const { data: me } = useQuery(meQuery);
  const { description, suggestions: own = [], tools = [] } = agents?.items.find(({ name }) => name === agent) ?? {};
  // The stand-in model calls a tool if its name is the message.
  const isByName = own.length === 0 && me?.demo === true;
  const suggestions = isByName ? tools.slice(0, MOST).map(({ name }) => inWords(name)) : own.slice(0, MOST);
  return (
    <Empty icon={MessageSquare} title={`Chat with ${agent}`}>
      {description || 'Tell the agent what you need. Requests for approval appear here and in the inbox.'}
      {suggestions.length > 0 && (
        <div className="mt-4 flex flex-wrap justify-center gap-2">
          {suggestions.map((words) => (
            <button
              key={words}
              type="button"
              className="button h-auto min-h-8 max-w-full py-1 whitespace-normal max-md:h-auto max-md:min-h-11"
              onClick={() => onSay(words)}
            >
              <VisibleText text={words} />
            </button>
          ))}
        </div>
      )}
    </Empty>
  );
}

/** How many suggestions are shown. */
const MOST = 3;

const NEAR_THE_END = 160;

/** Stays at the end while it grows, unless the reader has gone up. */
function useFollow(messages: readonly unknown[], cards: readonly unknown[]) {
  const scroller = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const place = scroller.current;
    if (!place) return;
    const onScroll = () => {
      isAtEnd.current = place.scrollHeight - place.scrollTop - place.clientHeight < NEAR_THE_END;
    };
    place.addEventListener('scroll', onScroll, { passive: true });
    return () => place.removeEventListener('scroll', onScroll);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whatever it shows has grown.
  useEffect(() => {
    const place = scroller.current;
    if (place && isAtEnd.current) place.scrollTop = place.scrollHeight;
  }, [messages, cards]);
  return scroller;
}
