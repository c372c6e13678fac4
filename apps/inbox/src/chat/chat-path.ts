// The addresses of chats.

/** Random, even if a page is not served over https and `crypto.randomUUID` is missing. */
export function newChatId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  return `chat_${Array.from(bytes, (byte) => byte.toString(36).padStart(2, '0')).join('')}`;
}

export const chatPath = (agent: string, id: string): string =>
  `/chat/${encodeURIComponent(agent)}/${encodeURIComponent(id)}`;

/** A chat that gets its id with the first message. */
export const newChatPath = (agent: string): string => `/chat/${encodeURIComponent(agent)}`;
