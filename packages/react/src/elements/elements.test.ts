// The parts of the custom elements that need no browser: the styles in a shadow root, and chats of other frameworks.
import { expect, test } from 'vitest';
import type { ChatLike } from '../request.ts';
import { chatOf } from './chat-of.ts';
import { forShadowRoot } from './look.ts';

test('in a shadow root each use of a token falls back to its value, and an own fallback stays', () => {
  const css = `:root {
  /* Type; with a semicolon */
  --cs-text: 1rem;
  --cs-ink: light-dark(#000, #fff);
}
p { color: var(--cs-ink); font-size: var(--cs-text, 2rem); margin: var(--cs-other); }`;
  const styles = forShadowRoot(css);
  expect(styles).toContain(
    'p { color: var(--cs-ink, light-dark(#000, #fff)); font-size: var(--cs-text, 2rem); margin: var(--cs-other); }',
  );
  expect(styles).not.toContain(':root');
});

const sent: unknown[] = [];
const actions = {
  sendMessage: async (_?: undefined, options?: { body?: object }) => void sent.push(options?.body),
  resumeStream: async () => {},
};

test('a chat class is read as it is now, and its messages are replaced by its setter', () => {
  const chat = {
    ...actions,
    id: 'chat-1',
    messages: [] as ChatLike['messages'],
    status: 'ready' as ChatLike['status'],
  };
  const before = chatOf(chat);
  chat.status = 'streaming';
  const message = { id: 'm', role: 'user', parts: [] };
  before.setMessages?.([message]);
  expect(before).toMatchObject({ id: 'chat-1', messages: [], status: 'ready' });
  expect(chatOf(chat)).toMatchObject({ messages: [message], status: 'streaming' });
  // A new list each time: the framework may have changed the old one in place.
  expect(chatOf(chat).messages).not.toBe(chatOf(chat).messages);
});

test('what the useChat of Vue returns has refs, and decisions go through it', async () => {
  const chat = {
    ...actions,
    id: { value: 'chat-2' },
    messages: { value: [{ id: 'm', role: 'user', parts: [] }] },
    status: { value: 'error' as const },
    error: { value: new Error('No network.') },
  };
  const read = chatOf(chat);
  expect(read).toMatchObject({ id: 'chat-2', messages: [{ id: 'm' }], status: 'error' });
  expect(read.error?.message).toBe('No network.');
  read.setMessages?.([]);
  expect(chat.messages.value).toEqual([]);
  await read.sendMessage(undefined, { body: { decisions: [] } });
  expect(sent).toEqual([{ decisions: [] }]);
});
