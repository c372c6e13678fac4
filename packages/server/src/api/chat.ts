// The chat with an agent, for `useChat`: `chatRoute` of countersign/ui behind the identity and the policies of this server.
import { z } from '@hono/zod-openapi';
import { type Agent, type Countersign, type Context as ToolContext, UsageError } from 'countersign';
import { type ChatRoute, chatRoute } from 'countersign/ui';
import type { RunReference } from '../access.ts';
import { endpoint, requireScope } from '../http/endpoint.ts';
import type { Person } from '../identity/person.ts';
import { chatIdShape, nameShape } from '../schemas/page.ts';
import { unknownAgent } from './run-answer.ts';
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
    decisions: z.array(z.looseObject({ interruptId: z.string() })).optional(),
  })
  .openapi('ChatPost', { description: 'The body `useChat` posts. See `docs/reference/wire-format.md`.' });

const stream = { description: 'The UI message stream of the AI SDK.', shape: z.string(), type: 'text/event-stream' };

/** Who chats, as `chatRoute` is told: with what is known of the chat already. */
type Chatter = {
  readonly id: string;
  /** The chat that was looked at; nothing of this is said of another. */
  readonly chatId: string;
  readonly context?: ToolContext;
  readonly person: Person;
  readonly startedBy: string | null;
  readonly sees: boolean;
  /** There was none yet. */
  readonly isNew: boolean;
};

export function chatEndpoints(services: Services) {
  const { ai, access } = services;
  const chatters = new WeakMap<Request, Chatter>();
  const routes = new Map<Agent, ChatRoute>();
  const faults = new WeakMap<Request, unknown>();

  function routeOf(name: string): ChatRoute {
    const agent = ai.agents.get(name);
    if (!agent) throw unknownAgent(name);
    const known = routes.get(agent);
    if (known) return known;
    const made = chatRoute(agent, {
      authorize: (request) => chatters.get(request),
      mayRead: async (run, chatter) => {
        const { chatId, isNew, sees, person } = chatter as Chatter;
        // Somebody else has begun it meanwhile: what was looked at was a chat of one's own.
        if (run.id !== chatId || (isNew && run.startedBy !== person.id)) return false;
        return sees || access.mayRead(run, person);
      },
      mayDecide: (card, chatter) => {
        const { person, startedBy } = chatter as Chatter;
        const runId = card.id.slice(0, Math.max(0, card.id.indexOf(':')));
        return access.mayDecide({ ...card, runId, agent: name, startedBy, hold: null }, person);
      },
      keepAliveMs: services.streams.keepAliveMs,
      onFault: (error, request) => faults.set(request, error),
    });
    routes.set(agent, made);
    return made;
  }

  /** The run of the chat, if there is one that this person may read; the route says of all others that there is none. */
  async function enter(
    request: Request,
    agent: string,
    chatId: string,
    person: Person,
  ): Promise<RunReference | 'none' | 'hidden'> {
    const run = await access.reference(chatId);
    const sees = run !== undefined && run.agent === agent && (await access.sees(run, person));
    const isOwn = !run || run.startedBy === person.id;
    chatters.set(request, {
      id: person.id,
      chatId,
      ...(isOwn && person.context && { context: person.context }),
      person,
      startedBy: run ? run.startedBy : person.id,
      sees,
      isNew: run === undefined,
    });
    return sees ? run : run ? 'hidden' : 'none';
  }

  /** What went wrong here is told and logged as everywhere in the server. */
  async function ask(request: Request, answering: Promise<Response>): Promise<Response> {
    const answer = await answering;
    if (faults.has(request)) throw faults.get(request);
    return answer;
  }

  /** What is followed ends with the client, with the server, and after its time. */
  const followed = (signal: AbortSignal): AbortSignal =>
    AbortSignal.any([signal, services.hub.closed, AbortSignal.timeout(services.streams.lifetimeMs)]);

  const look = (
    what: '' | '/stream' | '/watch',
    summary: string,
    answer: { description: string; shape?: z.ZodType; type?: string },
  ) =>
    endpoint(
      {
        method: 'get',
        path: `/chat/{agent}/{chatId}${what}`,
        summary,
        tag,
        scope: 'read',
        params: chatParams,
        answers: { 200: answer, ...(what === '/stream' && { 204: { description: 'There is nothing to show.' } }) },
        problems: [404],
      },
      async ({ params: { agent, chatId }, person, request: asked }) => {
        const route = routeOf(agent);
        const request = new Request(asked.url, { headers: asked.headers, signal: followed(asked.signal) });
        const found = await enter(request, agent, chatId, person);
        // As for a chat that nobody has begun.
        if (what === '/stream' && found === 'hidden') return new Response(null, { status: 204 });
        return ask(request, route.GET(request));
      },
    );

  return [
    endpoint(
      {
        method: 'post',
        path: '/chat/{agent}',
        summary: 'Say something, or decide, in a chat',
        description: 'Saying something needs the scope `start`, deciding the scopes `decide` and `read`.',
        tag,
        scope: null,
        params: agentParam,
        body: PostShape,
        answers: { 200: stream },
        problems: [404, 409],
      },
      async ({ params: { agent }, body, person, request }) => {
        const route = routeOf(agent);
        // Whoever speaks is answered; everybody else is shown the conversation.
        if (lastRole(body) !== 'user') requireScope(person, 'read');
        const post = new Request(request.url, {
          method: 'POST',
          headers: headersOf(request),
          body: JSON.stringify(body),
          signal: request.signal,
        });
        const found = await enter(post, agent, body.id, person);
        const run = found === 'none' ? { id: body.id, agent, startedBy: person.id } : found;
        if (run !== 'hidden' && !(await access.maySteer(run, person)))
          await refuseSpeaking(ai, found === 'none' ? undefined : run, body);
        return ask(post, route.POST(post));
      },
    ),
    look('', 'A chat, to begin `useChat` with', { description: 'The chat.', shape: z.looseObject({ id: z.string() }) }),
    look('/stream', 'The current message again, then what happens', stream),
    look('/watch', 'Tells when the chat comes to rest', {
      description: 'Server-sent events.',
      shape: z.string(),
      type: 'text/event-stream',
    }),
  ];
}

/** Who speaks last, as the chat reads it: what a browser posts as the system is not heard. */
function lastRole({ messages = [] }: z.output<typeof PostShape>): string | undefined {
  return messages.findLast(({ role }) => role !== 'system')?.role;
}

/** Those who may only decide may not speak in the name of the one who asked, nor have a failed run tried again. */
async function refuseSpeaking(
  ai: Countersign,
  run: RunReference | undefined,
  body: z.output<typeof PostShape>,
): Promise<void> {
  const { id, trigger, decisions = [] } = body;
  const last = lastRole(body);
  const decides = trigger !== 'regenerate-message' && (last === 'assistant' || (!last && decisions.length > 0));
  if (run && decides && (await ai.runs.get(run.id)).status !== 'failed') return;
  throw new UsageError('not-allowed', { status: 403, runId: id }, 'You may decide in this chat, but not speak in it.');
}

/** The length is that of the body as it is written now, and where the post comes from was looked at already. */
function headersOf(request: Request): Headers {
  const headers = new Headers(request.headers);
  for (const name of ['content-length', 'transfer-encoding', 'content-encoding', 'origin', 'sec-fetch-site'])
    headers.delete(name);
  headers.set('content-type', 'application/json');
  return headers;
}
