// A stored chat without the AI SDK, for pages that only decide: its conversation is read again after each answer.
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { useCallback, useMemo, useState } from 'react';
import type { ChatLike, ChatMessage } from '../request.ts';
import { ask, type WatchSource } from '../watch/ask.ts';

type Conversation = Pick<ChatLike, 'messages' | 'status' | 'error'>;

export type StoredChat = ChatLike & { readonly load: () => Promise<void> };

export function useStoredChat(api: string, id: string, source: WatchSource): StoredChat {
  const [conversation, setConversation] = useState<Conversation>({ messages: [], status: 'ready' });
  const { headers, credentials, fetch } = source;
  const asked = useMemo(() => ({ headers, credentials, fetch }), [headers, credentials, fetch]);
  const address = `${api}/${encodeURIComponent(id)}`;
  const change = useCallback(
    (part: Partial<Conversation>) => setConversation((before) => ({ ...before, ...part })),
    [],
  );

  const read = useCallback(async () => {
    const response = await ask(address, asked);
    // Until the first message there is no chat.
    if (response.status === 404) return { messages: [], status: 'done' };
    if (!response.ok) throw new Error(`The server returned ${response.status}.`);
    return (await response.json()) as { readonly messages: readonly ChatMessage[]; readonly status: string };
  }, [address, asked]);

  /** Follows an answer to its end. A failure is the status of the chat, as with the AI SDK. */
  const follow = useCallback(
    async (answer: () => Promise<Response>) => {
      change({ status: 'submitted', error: undefined });
      try {
        await drained(await answer());
        const { messages } = await read();
        change({ messages, status: 'ready' });
      } catch (reason) {
        change({ status: 'error', error: reason instanceof Error ? reason : new Error(String(reason)) });
      }
    },
    [change, read],
  );

  const resumeStream = useCallback(() => follow(() => ask(`${address}/stream`, asked)), [follow, address, asked]);

  const load = useCallback(async () => {
    const { messages, status } = await read();
    change({ messages, status: 'ready', error: undefined });
    if (status === 'running') void resumeStream();
  }, [change, read, resumeStream]);

  const { messages } = conversation;
  return {
    ...conversation,
    id,
    load,
    resumeStream,
    setMessages: (messages) => change({ messages }),
    sendMessage: (_, { body } = {}) =>
      follow(() => {
        const last = messages.slice(-1);
        const posted = { id, trigger: 'submit-message', messageId: last[0]?.id, messages: last, ...body };
        const headers = { 'content-type': 'application/json' };
        return ask(api, asked, { method: 'POST', headers, body: JSON.stringify(posted) });
      }),
  };
}

/** Reads a stream of chunks to its end. An error that it reports is thrown. */
async function drained(response: Response): Promise<void> {
  if (!response.ok) throw new Error((await response.text()) || `The server returned ${response.status}.`);
  const text = response.body?.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>);
  const reader = text?.pipeThrough(new EventSourceParserStream()).getReader();
  for (;;) {
    const next = await reader?.read();
    if (!next || next.done) return;
    const error = errorIn(next.value.data);
    if (error !== undefined) throw new Error(error);
  }
}

function errorIn(data: string): string | undefined {
  if (!data.startsWith('{"type":"error"')) return undefined;
  const { errorText } = JSON.parse(data) as { readonly errorText?: unknown };
  return typeof errorText === 'string' ? errorText : 'The server reported an error.';
}
