// The chat: the conversation, the requests that wait, and the input.
'use client';

import { useChat } from '@ai-sdk/react';
import { Requests, useRequests } from '@countersign/react';
import { DefaultChatTransport, type UIMessage } from 'ai';
import { useRef, useState } from 'react';

type ChatProps = { readonly id: string; readonly messages: UIMessage[]; readonly resume: boolean };

export function Chat({ id, messages, resume }: ChatProps) {
  const [transport] = useState(() => new DefaultChatTransport({ api: '/api/chat' }));
  const chat = useChat({ id, messages, resume, transport });
  const requests = useRequests(chat, { api: '/api/chat' });
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState('');

  function send(event: { preventDefault(): void }) {
    event.preventDefault();
    if (text.trim() === '') return;
    // With its id in the URL, the chat survives a reload and opens in a second tab.
    window.history.replaceState(null, '', `/?chat=${id}`);
    void chat.sendMessage({ text });
    setText('');
  }

  return (
    <main>
      <h1>It asks before it acts</h1>
      {chat.messages.length === 0 && <p className="hint">Write: Pay ACME 950</p>}
      {chat.messages.map((message) => (
        <p key={message.id} className={message.role}>
          {message.parts.map((part) => (part.type === 'text' ? part.text : '')).join(' ')}
        </p>
      ))}
      <Requests requests={requests} returnFocus={input} />
      {chat.error && (
        <p role="alert">
          Connection dropped. Nothing was lost or run twice.{' '}
          <button type="button" onClick={() => void chat.sendMessage()}>
            Try again
          </button>
        </p>
      )}
      <form onSubmit={send}>
        <input
          ref={input}
          aria-label="Your message"
          placeholder={requests.isPending ? 'A message cancels the pending request' : 'Say something…'}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit">Send</button>
      </form>
    </main>
  );
}
