// The chat with an agent, for `useChat`.
import { z } from '@hono/zod-openapi';
import { endpoint } from '../http/endpoint.ts';
import { chatIdShape, nameShape } from '../schemas/page.ts';
import { createChats } from './chats.ts';
import type { Services } from './services.ts';

const tag = 'Chat';
const agentParam = z.object({ agent: nameShape });
const chatParams = z.object({ agent: nameShape, chatId: chatIdShape });

const PostShape = z
  .looseObject({
    id: chatIdShape.openapi({ description: 'The chat: the id of its run.' }),
    trigger: z.enum(['submit-message', 'regenerate-message']).optional(),
    messages: z
      .array(
        z.looseObject({ id: z.string().optional(), role: z.string(), parts: z.array(z.looseObject({})).optional() }),
      )
      .optional(),
    withdraw: z.boolean().optional().openapi({
      description: 'Withdraws the pending requests, so that the messages that wait for them are answered now.',
    }),
    decisions: z.array(z.looseObject({ requestId: z.string() })).optional(),
  })
  .openapi('ChatPost', { description: 'The body `useChat` posts. See `docs/reference/wire-format.md`.' });

const stream = { description: 'The UI message stream of the AI SDK.', shape: z.string(), type: 'text/event-stream' };

export function chatEndpoints(services: Services) {
  const chats = createChats(services);

  const look = (
    operationId: string,
    what: '' | '/stream' | '/watch',
    summary: string,
    answer: { description: string; shape?: z.ZodType; type?: string },
  ) =>
    endpoint({
      route: `GET /chat/{agent}/{chatId}${what}`,
      operationId,
      summary,
      tag,
      scope: 'read',
      params: chatParams,
      answers: { 200: answer, ...(what === '/stream' && { 204: { description: 'Nothing to show.' } }) },
      handle: ({ params: { agent, chatId }, person, request }) => chats.look({ agent, person, request }, chatId, what),
    });

  return [
    endpoint({
      route: 'POST /chat/{agent}',
      operationId: 'postToChat',
      summary: 'Send a message or decide in a chat',
      description: 'Sending a message needs the scope `start`, deciding the scopes `decide` and `read`.',
      tag,
      scope: null,
      params: agentParam,
      body: PostShape,
      // A post has the whole conversation.
      maxValues: 200_000,
      answers: { 200: stream },
      problems: [409],
      handle: ({ params: { agent }, body, person, request }) => chats.post({ agent, person, request }, body),
    }),
    look('getChat', '', 'Load a chat for `useChat`', {
      description: 'The chat.',
      shape: z.looseObject({ id: z.string() }),
    }),
    look('resumeChat', '/stream', 'Stream the current message again until the run rests', stream),
    look('watchChat', '/watch', 'Watch for the chat to come to rest', {
      ...stream,
      description: 'Server-sent events.',
    }),
  ];
}
