// Responses for `useChat` without a route: one generation, or one stored run, as a UI message stream.
import { UsageError } from '../core/errors.ts';
import type { Message } from '../core/message.ts';
import { loadMessages } from '../core/messages/load-messages.ts';
import type { Agent } from '../loop/agent.ts';
import type { GenerateResponse } from '../loop/response.ts';
import { runsOf } from '../runs/agent-runs.ts';
import { generationChunks, type Listeners } from './chats/generation.ts';
import { StoredChat } from './chats/stored.ts';
import { problemsOf } from './http/posted-decisions.ts';
import { sseResponse } from './http/sse.ts';
import { cardOf } from './picture/cards.ts';
import { Picture, sinceSpoken } from './picture/picture.ts';
import type { ChatMessage } from './picture/ui-message.ts';
import { ChatWriter, type WriterOptions } from './picture/writer.ts';

/** How the response speaks to the browser. */
export type StreamResponseOptions = Partial<WriterOptions> & {
  /** The conversation that the generation is given, as far as it is not its `prompt`. */
  readonly messages?: readonly Message[];
  /** The message of the browser that goes on, as it sent it; a new one begins unless given. */
  readonly known?: ChatMessage;
  readonly signal?: AbortSignal;
  readonly keepAliveMs?: number;
  readonly onError?: (error: { readonly code: string; readonly message: string }) => string;
};

/** The headers by which clients of the AI SDK know the stream, and its end. */
export const UI_STREAM = { last: '[DONE]', headers: { 'x-vercel-ai-ui-message-stream': 'v1' } } as const;

type Failure = { readonly code: string; readonly message: string };

const brokeOff = ({ code }: Failure): string => `The answer broke off (${code}). Nothing is lost: try again.`;

/** What `onError` says; where it fails, or says something that is no text, the browser is told all the same. */
export function textBy(onError: (error: Failure) => string = brokeOff): (error: Failure) => string {
  return (error) => {
    try {
      const text: unknown = onError(error);
      if (typeof text === 'string') return text;
      // A promise is not waited for; a rejection that nobody takes would end the process.
      Promise.resolve(text).catch(() => undefined);
    } catch {
      // The run has its own error on record; this was only about how to put it.
    }
    return brokeOff(error);
  };
}

/**
 * One generation as a response for `useChat`. What the browser sends back is not checked here: `chatRoute` does that.
 * @example
 * return streamResponse((listen) => ai.generate({ prompt, tools, ...listen }));
 */
export function streamResponse(
  generate: (listen: Listeners) => Promise<GenerateResponse>,
  options: StreamResponseOptions = {},
): Response {
  const { messages = [], known, client = 6, approvals = 'native', keepAliveMs = 15_000 } = options;
  const { onError, signal = new AbortController().signal } = options;
  const messageId = known?.id ?? `msg_${crypto.randomUUID()}`;
  const picture = new Picture({
    chatId: messageId,
    state: loadMessages(messages).state,
    messageId: () => messageId,
    card: (key, pending, at) => cardOf(key, pending, at, new Map()),
    mayDecide: async () => true,
  });
  if (known) picture.restore(sinceSpoken(messages));
  const writer = new ChatWriter(picture, { client, approvals }, known);
  const refused = (error: UsageError) => new Map([...pendingKeys(picture)].map((key) => [key, problemsOf(error)]));
  const chunks = generationChunks({ picture, writer, signal, generate, refused, errorText: textBy(onError) });
  return sseResponse(chunks, { ...UI_STREAM, keepAliveMs });
}

function pendingKeys(picture: Picture): readonly string[] {
  return (picture.current?.steps ?? [])
    .flat()
    .flatMap((piece) => (piece.type === 'tool' ? [...piece.cards.keys()] : []));
}

/** The current message of a stored run as a response for `useChat`, and what happens until it rests; 204 if there is none. */
export async function runResponse(
  agent: Agent,
  runId: string,
  options: Omit<StreamResponseOptions, 'messages' | 'known'> = {},
): Promise<Response> {
  const known = runsOf(agent);
  if (!known?.runs) throw new UsageError('no-store', { agent: agent.name }, `The agent ${agent.name} has no store.`);
  const { client = 6, approvals = 'native', keepAliveMs = 15_000, onError } = options;
  const { port, runs } = known;
  const chat = new StoredChat(
    {
      agent,
      runs,
      tools: () => port.tools(),
      writer: { client, approvals },
      mayRead: async () => true,
      mayDecide: async () => true,
      whilePending: 'cancel',
      errorText: textBy(onError),
    },
    runId,
    { id: '' },
  );
  const chunks = await chat.replay(options.signal ?? new AbortController().signal);
  return chunks ? sseResponse(chunks, { ...UI_STREAM, keepAliveMs }) : new Response(null, { status: 204 });
}
