// The chats of all agents: `chatRoute` of countersign/ui with the server's identities and policies.
import { type Agent, type Countersign, type Context as ToolContext, UsageError } from 'countersign';
import { type ChatRoute, chatRoute } from 'countersign/ui';
import { type RunReference, rolesOf } from '../access.ts';
import { requireScope } from '../http/endpoint.ts';
import type { Person } from '../identity/person.ts';
import { unknownAgent } from './runs/run-answer.ts';
import type { Services } from './services.ts';

/** What `useChat` posts. */
export type ChatPost = {
  readonly id: string;
  readonly trigger?: 'submit-message' | 'regenerate-message' | undefined;
  readonly withdraw?: boolean | undefined;
  readonly messages?: readonly { readonly role: string; readonly [name: string]: unknown }[] | undefined;
  readonly decisions?: readonly { readonly requestId: string; readonly [name: string]: unknown }[] | undefined;
};

type Asking = { readonly agent: string; readonly person: Person; readonly request: Request };

export type Chats = {
  /** Records the post and streams the reply. */
  post(asking: Asking, body: ChatPost): Promise<Response>;
  /** Loads, streams or watches a chat; the path of the request says which. */
  look(asking: Asking, chatId: string, what: '' | '/stream' | '/watch'): Promise<Response>;
};

/** The person of a request to `chatRoute`, with what the server already knows of the chat. */
type Chatter = {
  readonly id: string;
  readonly roles: readonly string[];
  readonly mayDecide: boolean;
  /** The chat that the other fields are about. */
  readonly chatId: string;
  readonly context?: ToolContext;
  readonly person: Person;
  readonly startedBy: string | null;
  readonly sees: boolean;
  /** The chat did not exist yet. */
  readonly isNew: boolean;
};

/** Each call throws what the chat route refuses only if it is an internal error; other refusals are responses. */
export function createChats(services: Services): Chats {
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
        // Another person has started a chat with this id in the meantime.
        if (run.id !== chatId || (isNew && run.startedBy !== person.id)) return false;
        return sees || access.mayRead(run, person);
      },
      ...(services.whilePending && { whilePending: services.whilePending }),
      keepAliveMs: services.keepAliveMs,
      onFault: (error, request) => faults.set(request, error),
    });
    routes.set(agent, made);
    return made;
  }

  /** The run of the chat, if this person may read it. The route answers for all others as if they did not exist. */
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
      roles: rolesOf(person),
      mayDecide: person.scopes.includes('read') && (await access.mayDecideIn(run, person)),
      chatId,
      ...(isOwn && person.context && { context: person.context }),
      person,
      startedBy: run ? run.startedBy : person.id,
      sees,
      isNew: run === undefined,
    });
    return sees ? run : run ? 'hidden' : 'none';
  }

  /** Rethrows the route's internal errors, so that the server reports and logs them like all others. */
  async function ask(request: Request, answering: Promise<Response>): Promise<Response> {
    const answer = await answering;
    if (faults.has(request)) throw faults.get(request);
    return answer;
  }

  return {
    post: async ({ agent, person, request }, body) => {
      const route = routeOf(agent);
      // A post without a new message only shows the conversation.
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
    look: async ({ agent, person, request }, chatId, what) => {
      const route = routeOf(agent);
      const found = await enter(request, agent, chatId, person);
      // The same answer as for a chat that does not exist.
      if (what === '/stream' && found === 'hidden') return new Response(null, { status: 204 });
      return ask(request, route.GET(request));
    },
  };
}

/** The role of the last message that counts: system messages of a browser are ignored. */
function lastRole({ messages = [] }: ChatPost): string | undefined {
  return messages.findLast(({ role }) => role !== 'system')?.role;
}

/** Refuses a post of a person with only the right to decide, if it speaks for the owner of the chat or retries a failed run. */
async function refuseSpeaking(ai: Countersign, run: RunReference | undefined, body: ChatPost): Promise<void> {
  const { id, trigger, withdraw = false, decisions = [] } = body;
  const last = lastRole(body);
  const decides =
    !withdraw && trigger !== 'regenerate-message' && (last === 'assistant' || (!last && decisions.length > 0));
  if (run && decides && (await ai.runs.get(run.id)).status !== 'failed') return;
  throw new UsageError('not-allowed', { status: 403, runId: id }, 'You can decide in this chat but not send messages.');
}

/** Drops the headers that describe the original body, and the origin, which was already checked. */
function headersOf(request: Request): Headers {
  const headers = new Headers(request.headers);
  for (const name of ['content-length', 'transfer-encoding', 'content-encoding', 'origin', 'sec-fetch-site'])
    headers.delete(name);
  headers.set('content-type', 'application/json');
  return headers;
}
