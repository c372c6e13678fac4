// The chat route: `Request` in, `Response` out, for `useChat` of the AI SDK.
import { UsageError } from '../core/errors.ts';
import { checkOptions } from '../core/options.ts';
import type { Agent } from '../loop/agent.ts';
import { runsOf } from '../runs/agent-runs.ts';
import { CHAT_ROUTE_OPTIONS, type ChatRouteOptions, type Person } from './chat-options.ts';
import type { StoredChatOptions } from './chats/personal-chat.ts';
import { type SealedChatOptions, takeSealed } from './chats/sealed.ts';
import { StoredChat } from './chats/stored.ts';
import { waitInStream } from './chats/wait-in-stream.ts';
import { readJson } from './http/body.ts';
import { checkChatId, type Post, readPost } from './http/post.ts';
import { problemResponse } from './http/problem.ts';
import { sseResponse, untilLeft } from './http/sse.ts';
import { textBy, UI_STREAM } from './responses.ts';
import { createSealer } from './seal.ts';

/** The handlers of a route, as Next.js expects them. They work with any `Request`. */
export type ChatRoute = {
  GET(request: Request): Promise<Response>;
  POST(request: Request): Promise<Response>;
};

/**
 * Creates the route of a chat for `useChat`. `POST <api>` sends messages and decisions, `GET <api>/<chatId>` loads the chat,
 * `GET <api>/<chatId>/stream` streams the current message again, and `GET <api>/<chatId>/watch` reports changes.
 * @example
 * export const { GET, POST } = chatRoute(agent, { authorize: async (request) => personOf(request) });
 */
export function chatRoute(agent: Agent, options: ChatRouteOptions): ChatRoute {
  const { authorize, demo } = options ?? {};
  if (!authorize && demo !== true)
    throw new UsageError(
      'invalid-options',
      {},
      'chatRoute needs `authorize`, which identifies the user. For a demo without users, pass `demo: true`.',
    );
  checkOptions('`chatRoute`', options, CHAT_ROUTE_OPTIONS);
  const chats = openChats(agent, options);
  const onFault = safely(options.onFault ?? toConsole);
  const stream = { keepAliveMs: options.keepAliveMs ?? 15_000 };
  const uiStream = { ...stream, ...UI_STREAM };
  const limits = {
    maxBytes: options.maxBodyBytes ?? 1_000_000,
    timeoutMs: options.bodyTimeoutMs ?? 30_000,
    // A post has the whole conversation.
    maxValues: 200_000,
  };

  /** Only `true` is a yes. A policy that throws has said no. */
  function asking<About>(policy: Policy<About>, request: Request): (about: About, person: Person) => Promise<boolean> {
    return async (about, person) => {
      try {
        return (await policy(about, person)) === true;
      } catch (error) {
        onFault(error, request);
        return false;
      }
    };
  }

  const policiesFor = (request: Request): Pick<StoredChatOptions, 'mayRead'> => ({
    mayRead: asking(options.mayRead ?? ((run, person) => run.startedBy === person.id), request),
  });

  async function personOf(request: Request, chatId: () => Promise<string>): Promise<Person> {
    if (!authorize) return DEMO;
    const found = await authorize(request, { chatId });
    if (found instanceof Response) throw found;
    if (found && typeof found.id === 'string' && found.id !== '') return found;
    throw new UsageError('not-authorized', { status: 401 }, 'Not signed in: `authorize` returned no string `id`.');
  }

  return {
    GET: answering(onFault, async (request) => {
      const { chatId, what } = readPath(new URL(request.url).pathname);
      const person = await personOf(request, async () => chatId);
      if (chats.type === 'sealed') return new Response(null, { status: 204 });
      const chat = new StoredChat({ ...chats.options, ...policiesFor(request) }, chatId, person);
      if (what === 'chat') return Response.json(await chat.load(), { headers: { 'cache-control': 'no-store' } });
      const { signal, onLeft } = untilLeft(request);
      if (what === 'watch') return sseResponse(await chat.watch(signal), { ...stream, onLeft });
      const chunks = await chat.replay(signal);
      return chunks ? sseResponse(chunks, { ...uiStream, onLeft }) : new Response(null, { status: 204 });
    }),
    POST: answering(onFault, async (request) => {
      refuseOtherOrigins(request, options.allowedOrigins ?? []);
      let reading: Promise<Post> | undefined;
      const read = (): Promise<Post> => (reading ??= readJson(request, limits).then(readPost));
      // Nothing of a post is read for an unknown sender, unless `authorize` asks for it.
      const person = await personOf(request, async () => (await read()).chatId);
      const post = await read();
      const { signal, onLeft } = untilLeft(request);
      const policies = policiesFor(request);
      const taking =
        chats.type === 'stored'
          ? new StoredChat({ ...chats.options, ...policies }, post.chatId, person).take(post, signal)
          : takeSealed({ ...chats.options, ...policies, chatId: post.chatId, person }, post, signal);
      const chunks = await waitInStream(taking, {
        patienceMs: stream.keepAliveMs,
        errorText: chats.options.errorText,
        signal,
        onFault: (error) => onFault(error, request),
      });
      return sseResponse(chunks, { ...uiStream, onLeft });
    }),
  };
}

const DEMO: Person = { id: 'demo' };

type Policy<About> = (about: About, person: Person) => boolean | Promise<boolean>;

type Chats =
  | { readonly type: 'stored'; readonly options: Omit<StoredChatOptions, 'mayRead'> }
  | { readonly type: 'sealed'; readonly options: SealedChatOptions };

function openChats(agent: Agent, options: ChatRouteOptions): Chats {
  const known = runsOf(agent);
  if (!known) throw new UsageError('invalid-options', {}, 'chatRoute needs an agent from ai.defineAgent(…).');
  const { port, runs } = known;
  const shared = {
    agent,
    tools: () => port.tools(),
    writer: {
      client: options.client ?? 6,
      approvals: options.approvals ?? (options.client === 5 ? 'output' : 'native'),
    },
    whilePending: options.whilePending ?? port.whilePending ?? 'auto',
    errorText: textBy(options.onError),
  } as const;
  if (runs) return { type: 'stored', options: { ...shared, runs } };
  if (shared.whilePending === 'queue')
    throw new UsageError(
      'invalid-options',
      { agent: agent.name },
      `The agent ${agent.name} has no store, so no message can wait. Pass \`store\` to countersign(), or another \`whilePending\`.`,
    );
  if (options.secret === undefined)
    throw new UsageError(
      'invalid-options',
      { agent: agent.name },
      `The agent ${agent.name} has no store. Pass \`store\` to countersign(), or \`secret\` to chatRoute.`,
    );
  return {
    type: 'sealed',
    options: {
      ...shared,
      definedTools: () => port.defined(),
      sealer: createSealer(options.secret),
      expiresInMs: options.sealExpiresInMs ?? 3_600_000,
      clock: options.clock ?? Date.now,
    },
  };
}

type OnFault = NonNullable<ChatRouteOptions['onFault']>;

/** If `onFault` itself fails, the response is still sent and the error goes to the console. */
function safely(onFault: OnFault): OnFault {
  const report = async (error: unknown, request: Request): Promise<void> => onFault(error, request);
  return (error, request) => void report(error, request).catch(() => toConsole(error, request));
}

/** The URL may hold secrets, so it is not logged. */
function toConsole(error: unknown, { method }: Request): void {
  console.error(`A ${method} request to the chat failed:`, error);
}

/** Turns every error into a response. */
function answering(
  onFault: OnFault,
  handle: (request: Request) => Promise<Response>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    try {
      return await handle(request);
    } catch (error) {
      if (error instanceof Response) return error;
      const answer = problemResponse(error);
      if (answer.status >= 500) onFault(error, request);
      return answer;
    }
  };
}

function readPath(path: string): { readonly chatId: string; readonly what: 'chat' | 'stream' | 'watch' } {
  const segments = path.split('/').filter((segment) => segment !== '');
  const last = segments.at(-1);
  const what = last === 'stream' || last === 'watch' ? last : 'chat';
  const id = what === 'chat' ? last : segments.at(-2);
  return { chatId: checkChatId(id, 'the chat id in the URL'), what };
}

/** Another site can make a browser post with its user's cookies. Browsers send the origin of a post. */
function refuseOtherOrigins(request: Request, allowed: readonly string[]): void {
  const origin = request.headers.get('origin');
  const site = request.headers.get('sec-fetch-site');
  if (origin !== null && allowed.includes(origin)) return;
  const isForeign = origin === null ? site === 'cross-site' : !isSameHost(origin, request);
  if (isForeign)
    throw new UsageError(
      'not-allowed',
      { status: 403, origin },
      `Origin ${origin ?? 'of another site'} is not allowed.`,
    );
}

function isSameHost(origin: string, request: Request): boolean {
  // A proxy forwards the host that the browser used.
  const asked = request.headers.get('x-forwarded-host') ?? request.headers.get('host') ?? new URL(request.url).host;
  return URL.canParse(origin) && new URL(origin).host === asked;
}
