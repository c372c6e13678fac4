// `useChat` for the AI SDK 6, whose React package is not installed: its own chat, with a state that React can follow.
import { AbstractChat, type ChatState, type ChatStatus, DefaultChatTransport, type UIMessage } from 'ai-v6';
import { useState, useSyncExternalStore } from 'react';

class State implements ChatState<UIMessage> {
  readonly listeners = new Set<() => void>();
  snapshotOfAll: { messages: UIMessage[]; status: ChatStatus; error: Error | undefined };

  constructor(messages: UIMessage[]) {
    this.snapshotOfAll = { messages, status: 'ready', error: undefined };
  }

  change(change: Partial<State['snapshotOfAll']>) {
    this.snapshotOfAll = { ...this.snapshotOfAll, ...change };
    for (const listener of this.listeners) listener();
  }

  get status() {
    return this.snapshotOfAll.status;
  }
  set status(status) {
    this.change({ status });
  }
  get error() {
    return this.snapshotOfAll.error;
  }
  set error(error) {
    this.change({ error });
  }
  get messages() {
    return this.snapshotOfAll.messages;
  }
  set messages(messages) {
    this.change({ messages });
  }
  pushMessage = (message: UIMessage) => this.change({ messages: [...this.messages, message] });
  popMessage = () => this.change({ messages: this.messages.slice(0, -1) });
  replaceMessage = (index: number, message: UIMessage) =>
    this.change({ messages: this.messages.with(index, this.snapshot(message)) });
  snapshot = <T>(thing: T): T => structuredClone(thing);
}

class Chat6 extends AbstractChat<UIMessage> {
  readonly live: State;
  constructor(api: string, id: string, messages: readonly unknown[]) {
    const state = new State(messages as UIMessage[]);
    super({ id, state, transport: new DefaultChatTransport({ api }) });
    this.live = state;
  }
}

export function useChat6(api: string, id: string, messages: readonly unknown[]) {
  const [chat] = useState(() => new Chat6(api, id, messages));
  const snapshot = useSyncExternalStore(
    (listener) => {
      chat.live.listeners.add(listener);
      return () => chat.live.listeners.delete(listener);
    },
    () => chat.live.snapshotOfAll,
  );
  const { sendMessage, resumeStream } = chat;
  const setMessages = (messages: UIMessage[]) => {
    chat.messages = messages;
  };
  return { ...snapshot, id: chat.id, sendMessage, resumeStream, setMessages };
}
