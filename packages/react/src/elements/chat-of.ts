// A chat of any framework as the element takes it.
import type { ChatLike, ChatMessage } from '../request.ts';

/** The `Chat` class of `@ai-sdk/vue`, `@ai-sdk/svelte` and `@ai-sdk/angular`, or what their `useChat` returns, with refs. */
export type AnyChat = {
  readonly id: string | Ref<string>;
  readonly messages: readonly ChatMessage[] | Ref<readonly ChatMessage[]>;
  readonly status: ChatLike['status'] | Ref<ChatLike['status']>;
  readonly error?: Error | undefined | Ref<Error | undefined>;
  sendMessage(message?: undefined, options?: { body?: object }): Promise<void>;
  resumeStream(): Promise<void>;
  setMessages?(messages: any[]): void;
  addToolApprovalResponse?(response: { id: string; approved: boolean; reason?: string }): void | PromiseLike<void>;
};

type Ref<Value> = { readonly value: Value };

/**
 * Reads the chat as it is now. Call it in a template or in an effect: it reads everything that may change, so the framework calls it
 * again after each change.
 */
export function chatOf(chat: AnyChat): ChatLike {
  const { setMessages, addToolApprovalResponse } = chat;
  return {
    id: read(chat.id),
    messages: [...read(chat.messages)],
    status: read(chat.status),
    error: read(chat.error),
    sendMessage: (message, options) => chat.sendMessage(message, options),
    resumeStream: () => chat.resumeStream(),
    setMessages: (messages) => {
      if (setMessages) setMessages.call(chat, messages);
      else if (isRef(chat.messages)) Object.assign(chat.messages, { value: messages });
      else Object.assign(chat, { messages });
    },
    ...(addToolApprovalResponse && {
      addToolApprovalResponse: (response) => addToolApprovalResponse.call(chat, response),
    }),
  };
}

function read<Value>(value: Value | Ref<Value>): Value {
  return isRef(value) ? value.value : value;
}

function isRef<Value>(value: Value | Ref<Value>): value is Ref<Value> {
  return typeof value === 'object' && value !== null && 'value' in value;
}
