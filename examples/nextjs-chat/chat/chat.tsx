// The chat of the page `/`: `useChat` for the conversation, `useRequests` for pending requests.
'use client';

import { useChat } from '@ai-sdk/react';
import { Requests, useRequests } from '@countersign/react';
import { DefaultChatTransport } from 'ai';
import { useEffect, useMemo, useRef } from 'react';
import { Composer } from './composer.tsx';
import { EmptyChat } from './empty-chat.tsx';
import type { AppMessage, AppTools } from './message.ts';
import { MessageView } from './message-view.tsx';
import { type ModelName, TopBar } from './top-bar.tsx';
import { Trouble } from './trouble.tsx';
import { useFollow } from './use-follow.ts';

export type ChatProps = {
  readonly id: string;
  readonly messages: AppMessage[];
  /** The answer was still being written when the page was loaded. */
  readonly isRunning: boolean;
  readonly model: ModelName;
};

const API = '/api/chat';

export function Chat({ id, messages: loaded, isRunning, model }: ChatProps) {
  const chat = useChat<AppMessage>({ id, messages: loaded, transport: useTransport(), resume: isRunning });
  const requests = useRequests<AppTools>(chat, { api: API });
  const input = useRef<HTMLTextAreaElement>(null);
  const { messages, status, error } = chat;
  const isBusy = status === 'submitted' || status === 'streaming';
  const { end, waiting } = useFollow(lengthOf(messages) + requests.requests.length);

  const pending = useMemo(() => new Set(requests.requests.map(({ id }) => id)), [requests.requests]);

  // From the first word on, the address leads back to this chat.
  const hasBegun = messages.length > 0;
  useEffect(() => {
    if (hasBegun) window.history.replaceState(null, '', `/?chat=${id}`);
  }, [hasBegun, id]);

  const say = (text: string) => {
    chat.clearError();
    void chat.sendMessage({ text });
  };

  return (
    <div className="flex min-h-dvh flex-col [--cs-bottom-bar:6.125rem] max-sm:[--cs-bottom-bar:6.625rem]">
      <TopBar page="/" model={model} />
      <main className="mx-auto flex w-full max-w-3xl flex-1 flex-col px-4 sm:px-6">
        <h1 className="sr-only">Chat with the assistant</h1>
        {hasBegun ? (
          <div role="log" aria-label="Conversation" aria-busy={isBusy} className="flex flex-col gap-6 pt-6">
            {messages.map((message) => (
              <MessageView key={message.id} message={message} pending={pending} />
            ))}
            {status === 'submitted' && <Thinking />}
          </div>
        ) : (
          <EmptyChat isDemo={model.isDemo} onChoose={say} />
        )}
        <div ref={waiting} className="pt-4">
          <Requests requests={requests} returnFocus={input} headingLevel={2} />
        </div>
        {error && !isBusy && <Trouble onRetry={() => void chat.sendMessage()} />}
        <div ref={end} className="h-6 shrink-0" />
      </main>
      <Composer input={input} isBusy={isBusy} isPending={requests.isPending} onSend={say} />
    </div>
  );
}

/** The server keeps the conversation. The page sends only the last message, which shows how much it already has. */
function useTransport() {
  return useMemo(
    () =>
      new DefaultChatTransport<AppMessage>({
        api: API,
        prepareSendMessagesRequest: ({ id, messages, trigger, messageId, body }) => ({
          body: { ...body, id, trigger, messageId, messages: messages.slice(-1) },
        }),
      }),
    [],
  );
}

/** Grows with everything that is said. */
function lengthOf(messages: readonly AppMessage[]): number {
  const parts = messages.flatMap((message) => message.parts);
  return parts.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 1), messages.length);
}

function Thinking() {
  return (
    <p className="thinking">
      <span className="sr-only">The assistant is thinking</span>
      <i />
      <i />
      <i />
    </p>
  );
}
