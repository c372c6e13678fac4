// The addresses of chats.
import { generateId } from 'ai';

export const newChatId = (): string => `chat_${generateId()}`;

export const chatPath = (agent: string, id: string): string =>
  `/chat/${encodeURIComponent(agent)}/${encodeURIComponent(id)}`;

/** A chat that gets its id with the first message. */
export const newChatPath = (agent: string): string => `/chat/${encodeURIComponent(agent)}`;
