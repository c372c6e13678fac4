// A chat as an app would write it, on `useChat` of the AI SDK 7 or on the chat of the AI SDK 6.
import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport } from 'ai';
import { useRef, useState } from 'react';
import { ApprovalCard, type ChatLike, Requests, useRequests } from '../../src/index.ts';
import { useChat6 } from './use-chat-6.ts';

export type ChatProps = {
  readonly version: 6 | 7;
  readonly watch: boolean;
  readonly messages: readonly unknown[];
  readonly id?: string;
};

export function ChatScene({ version, ...props }: ChatProps) {
  return version === 6 ? <On6 {...props} /> : <On7 {...props} />;
}

const API = '/api/chat';

function On7({ watch, messages, id = 'chat/1' }: Omit<ChatProps, 'version'>) {
  const [transport] = useState(() => new DefaultChatTransport({ api: API }));
  const chat = useChat({ id, transport, messages: messages as never[] });
  return <Conversation chat={chat} speak={(text) => chat.sendMessage({ text })} watch={watch} />;
}

function On6({ watch, messages, id = 'chat/1' }: Omit<ChatProps, 'version'>) {
  const chat = useChat6(API, id, messages);
  return <Conversation chat={chat} speak={(text) => chat.sendMessage({ text })} watch={watch} />;
}

type ConversationProps = {
  readonly chat: ChatLike;
  readonly speak: (text: string) => Promise<void>;
  readonly watch: boolean;
};

function Conversation({ chat, speak, watch }: ConversationProps) {
  const actions = useRequests(chat, watch ? { api: API } : {});
  window.actions = actions;
  const [text, setText] = useState('');
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <p data-testid="status">{chat.status}</p>
      <p data-testid="error">{actions.error?.message}</p>
      <ol data-testid="messages">
        {chat.messages.map((message) => (
          <li key={message.id}>
            {message.parts.map((part) => ('text' in part && typeof part.text === 'string' ? part.text : '')).join(' ')}
          </li>
        ))}
      </ol>
      <div data-testid="decided">
        {actions.decided.map((request) => (
          <ApprovalCard key={request.id} request={request} actions={actions} headingLevel={2} />
        ))}
      </div>
      <Requests requests={actions} returnFocus={input} headingLevel={2} />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void speak(text);
          setText('');
        }}
      >
        <input
          ref={input}
          aria-label="Message"
          disabled={actions.isPending}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <button type="submit">Say it</button>
      </form>
    </>
  );
}
