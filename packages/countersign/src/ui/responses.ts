// Responses for `useChat` without a route: one generation, or one stored run, as a UI message stream.
import { UsageError } from '../core/errors.ts';
import { loadMessages } from '../core/messages/load-messages.ts';
import type { Message } from '../core/messages/message.ts';
import type { Agent } from '../loop/agent.ts';
import type { GenerateResponse } from '../loop/response.ts';
import { runsOf } from '../runs/agent-runs.ts';
import { generationChunks, type Listeners } from './chats/generation.ts';
import { StoredChat } from './chats/stored.ts';
import { problemsOf } from './http/posted-decisions.ts';
import { sseResponse } from './http/sse.ts';
import { Picture, sinceUserSpoke } from './picture/picture.ts';
import type { ChatMessage } from './picture/ui-message.ts';
import { ChatWriter, type WriterOptions } from './picture/writer.ts';

/** How the response speaks to the browser. */
export type StreamResponseOptions = Partial<WriterOptions> & {
  /** The messages of the conversation before the `prompt`. */
  readonly messages?: readonly Message[];
  /** The message to continue, as the browser sent it. Default: a new message. */
  readonly known?: ChatMessage;
  readonly signal?: AbortSignal;
  readonly keepAliveMs?: number;
  readonly onError?: (error: { readonly code: string; readonly message: string }) => string;
};

/** The headers and the end marker of an AI SDK UI message stream. */
export const UI_STREAM = { last: '[DONE]', headers: { 'x-vercel-ai-ui-message-stream': 'v1' } } as const;

type Failure = { readonly code: string; readonly message: string };

const brokeOff = ({ code }: Failure): string =>
  `The reply was interrupted (${code}). Nothing was lost or run twice. Try again.`;

/** The text of `onError`, or the default text if that throws or does not return a string. */
export function textBy(onError: (error: Failure) => string = brokeOff): (error: Failure) => string {
  return (error) => {
    try {
      const text: unknown = onError(error);
      if (typeof text === 'string') return text;
      // An unhandled rejection would end the process.
      Promise.resolve(text).catch(() => undefined);
    } catch {
      // The error of the run is recorded; only its wording failed.
    }
    return brokeOff(error);
  };
}

/**
 * Streams one generation as a response for `useChat`. It does not check what the browser sends back; `chatRoute` does.
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
    messageId,
    tools: () => new Map(),
  });
  if (known) picture.restore(sinceUserSpoke(messages));
  const writer = new ChatWriter(picture, { client, approvals }, known);
  const refused = (error: UsageError) => new Map([...pendingKeys(picture)].map((key) => [key, problemsOf(error)]));
  const chunks = generationChunks({ picture, writer, signal, generate, refused, errorText: textBy(onError) });
  return sseResponse(chunks, { ...UI_STREAM, keepAliveMs });
}

function pendingKeys(picture: Picture): readonly string[] {
  return (picture.current?.steps ?? []).flat().flatMap((part) => (part.type === 'tool' ? [...part.cards.keys()] : []));
}

/** Streams the current message of a stored run for `useChat` until it pauses or ends; 204 if there is none. */
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
      whilePending: 'auto',
      errorText: textBy(onError),
    },
    runId,
    { id: '' },
  );
  const chunks = await chat.replay(options.signal ?? new AbortController().signal);
  return chunks ? sseResponse(chunks, { ...UI_STREAM, keepAliveMs }) : new Response(null, { status: 204 });
}
