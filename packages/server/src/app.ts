// The app: every route of the server behind one `fetch`, which mounts anywhere.
import { OpenAPIHono } from '@hono/zod-openapi';
import { type Countersign, UsageError } from 'countersign';
import type { Context } from 'hono';
import { Access } from './access.ts';
import { documentOf } from './api/document.ts';
import { apiEndpoints } from './api/endpoints.ts';
import type { Services } from './api/services.ts';
import { mountEndpoint } from './http/endpoint.ts';
import { type HostNames, refuseOtherHosts } from './http/host-check.ts';
import { allowedMethods } from './http/methods.ts';
import { isSafeMethod, refuseOtherOrigins } from './http/origin-check.ts';
import { problemResponse } from './http/problem.ts';
import { addSecurityHeaders } from './http/security-headers.ts';
import { type Caller, callerOf, type Origin } from './identity/identify.ts';
import type { Identified } from './identity/person.ts';
import { createLoginToken, type SessionCookie, sessionCookie } from './identity/sessions.ts';
import { ClaimWatch } from './live/hold-watch.ts';
import { Hub } from './live/hub.ts';
import { RunEvents } from './live/run-events.ts';
import { type AppOptions, checkAppOptions } from './options.ts';
import { DOCS_STYLE, docsPage } from './pages/docs.ts';
import { htmlResponse } from './pages/html.ts';
import { createInbox } from './pages/inbox.ts';
import { login, logout } from './pages/login.ts';
import { mountHealth } from './telemetry/health.ts';
import { documentHealth } from './telemetry/health-document.ts';
import { createLog, type Log } from './telemetry/log.ts';
import { Measures } from './telemetry/measures.ts';
import { OpenStreams } from './telemetry/open-streams.ts';
import { watchRecords } from './telemetry/records.ts';
import { watchRequests } from './telemetry/requests.ts';

/** A server without a socket. */
export type App = {
  /** Answers a request. `env` may carry Node's `incoming`, from which the address of the client is read. */
  fetch(request: Request, env?: unknown): Promise<Response>;
  /** The Hono app, to mount in another: `host.route('/approvals', app.hono)`, with `basePath: '/approvals'`. */
  readonly hono: OpenAPIHono;
  readonly log: Log;
  /** The path of a link that signs this person in, once and within ten minutes. */
  loginPath(person: Omit<Identified, 'context'>): Promise<string>;
  /** Makes `/readyz` answer 503, so that a load balancer sends new work elsewhere. */
  retire(): void;
  /** Ends every open stream and answers 503 to every request that would change something. */
  close(): void;
  /** What runs of `ai` record is neither counted nor logged from now on: the last thing to call. */
  end(): void;
};

const BASE = '/api/v1';

/**
 * The HTTP API and the inbox for the agents of `ai`, which needs a store.
 * @example
 * const app = createApp(ai, { identify: headerIdentity({ header: 'x-user', trustedProxies: ['127.0.0.1'] }) });
 * export default { fetch: app.fetch };
 */
export function createApp(ai: Countersign, options: AppOptions = {}): App {
  checkAppOptions('createApp', options);
  const { basePath = '', publicUrl } = options;
  if (!/^(\/[\w-]+)*$/.test(basePath))
    throw new UsageError('invalid-options', { basePath }, '`basePath` must be a path such as /approvals.');
  const publicAddress = publicUrl === undefined ? undefined : new URL(publicUrl);
  const hub = new Hub(ai.runs);
  const measures = new Measures();
  const log = createLog(options.log);
  const origins = [...(options.allowedOrigins ?? []), ...(publicAddress ? [publicAddress.origin] : [])];
  const services: Services = {
    ai,
    access: new Access(ai, options, log),
    hub,
    // The id of a question begins with that of its run.
    claims: new ClaimWatch({ notes: ai.runs.notes, changed: (id) => hub.changed(id.slice(0, id.indexOf(':'))) }),
    runEvents: new RunEvents(ai.runs, hub),
    log,
    streams: { keepAliveMs: options.keepAliveMs ?? 15_000, lifetimeMs: options.streamLifetimeMs ?? 3_600_000 },
    model: options.model ?? { name: 'unnamed', demo: false },
  };
  const stopRecords = watchRecords(ai, { measures, log: options.log && log, logInputs: options.logInputs ?? false });
  const { notes } = ai.runs;
  const cookieFor = (context: Context): SessionCookie => sessionCookie(publicAddress ?? new URL(context.req.url));
  const state = { retired: false };

  async function findCaller(context: Context): Promise<Caller | undefined> {
    const identification = { notes, cookie: cookieFor(context), identify: options.identify };
    const ask = () => callerOf(identification, context.req.raw, originOf(context));
    const caller = await ask();
    const own = publicAddress ?? new URL(context.req.url);
    refuseOtherOrigins(context.req.raw, caller?.proof, new Set([...origins, own.origin]));
    if (caller) {
      context.set('person', caller.person.id);
      context.set('stillKnown', () => isStill(caller, ask));
    }
    return caller;
  }

  async function caller(context: Context): Promise<Caller> {
    const found = await findCaller(context);
    if (found) return found;
    throw new UsageError('not-authorized', { status: 401 }, 'Sign in first: nobody is known who asks this.');
  }

  const hono = new OpenAPIHono({ getPath: (request) => pathBelow(basePath, new URL(request.url).pathname) });
  hono.onError((error, context: Context) => problemResponse(error, context.get('requestId')));
  const streams = new OpenStreams({
    measures,
    limit: options.maxStreams ?? 2_000,
    limitPerPerson: options.maxStreamsPerPerson ?? 200,
    checkMs: options.streamCheckMs ?? 30_000,
  });
  hono.use('*', watchRequests({ log, measures, streams }));
  hono.use('*', async (context, next) => {
    await next();
    addSecurityHeaders(context.res.headers, publicAddress?.protocol === 'https:');
  });
  hono.use('*', async (context, next) => {
    refuseOtherHosts(new URL(context.req.url), hostNames(options, publicAddress));
    if (hub.closed.aborted && !isSafeMethod(context.req.method)) throw stopping();
    await next();
  });

  const api = new OpenAPIHono();
  // A HEAD would open streams that nobody reads.
  api.use('*', async (context, next) => {
    if (context.req.method === 'HEAD') throw methodNotAllowed('HEAD', ['GET']);
    await next();
  });
  const endpoints = apiEndpoints(services);
  const limits = { maxBodyBytes: options.maxBodyBytes ?? 1_000_000, bodyTimeoutMs: options.bodyTimeoutMs ?? 30_000 };
  for (const endpoint of endpoints) mountEndpoint(api, endpoint, { caller, streams, ...limits });
  const metrics = options.metrics ?? 'token';
  documentHealth(api.openAPIRegistry, basePath === '' ? '/' : basePath, metrics);
  const document = documentOf(api, `${basePath}${BASE}`);
  api.get('/openapi.json', () => Response.json(document));
  api.get('/docs', () => htmlResponse(docsPage(document, 'docs.css')));
  api.get('/docs.css', () => new Response(DOCS_STYLE, { headers: { 'content-type': 'text/css; charset=utf-8' } }));
  hono.route(BASE, api);

  mountHealth(hono, { ai, hub, measures, metrics, caller, isRetired: () => state.retired });
  hono.get('/login', async (context) => {
    // Nor may it use up a link.
    if (context.req.method === 'HEAD' && context.req.query('token') !== undefined)
      throw methodNotAllowed('HEAD', ['GET']);
    const answer = await login(notes, cookieFor(context), new URL(context.req.url), basePath);
    return answer ?? inbox(context.req.path, context.req.raw);
  });
  hono.post('/logout', async (context) => {
    await findCaller(context);
    return logout(notes, cookieFor(context), context.req.raw);
  });

  const inbox = createInbox(options.inboxDir, basePath);
  const nothing = ({ req }: Context): never => {
    // The app may be mounted below another path, of which its own routes do not know.
    const path = req.path.slice(Math.max(0, req.path.lastIndexOf(`${BASE}/`)));
    throw notFound(req.method, req.path, allowedMethods(hono.routes, path));
  };
  hono.all('/api', nothing);
  hono.all('/api/*', nothing);
  // Mounted in another Hono app, the path is still that of the whole.
  const isBelow = (path: string): boolean => basePath !== '' && path.startsWith(`${basePath}/`);
  hono.all('*', ({ req }) => inbox(isBelow(req.path) ? req.path.slice(basePath.length) : req.path, req.raw));

  return {
    fetch: async (request, env) => hono.fetch(request, env as object),
    hono,
    log,
    loginPath: async (person) => `${basePath}/login?token=${await createLoginToken(notes, person)}`,
    retire: () => {
      state.retired = true;
    },
    close: () => hub.close(),
    end: stopRecords,
  };
}

function stopping(): UsageError {
  return new UsageError(
    'server-stopping',
    { status: 503, headers: { connection: 'close', 'retry-after': '1' } },
    'The server is stopping and takes no new work. Nothing was done; send the request again in a moment.',
  );
}

function notFound(method: string, path: string, allowed: readonly string[]): UsageError {
  if (allowed.length > 0) return methodNotAllowed(method, allowed);
  return new UsageError('not-found', { status: 404 }, `There is nothing at ${path.slice(0, 200)}.`);
}

function methodNotAllowed(method: string, allow: readonly string[]): UsageError {
  return new UsageError(
    'method-not-allowed',
    { status: 405, headers: { allow: allow.join(', ') } },
    `${method.slice(0, 20)} is not for this address.`,
  );
}

/** What is not below the place where the app is mounted is nothing of ours. */
function pathBelow(basePath: string, path: string): string {
  if (basePath === '') return path;
  if (path === basePath) return '/';
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : '/api/outside';
}

function hostNames({ hosts }: AppOptions, publicAddress: URL | undefined): HostNames {
  if (hosts === undefined) return undefined;
  const names = hosts === 'loopback' ? ['localhost', '127.0.0.1', '[::1]'] : hosts;
  return new Set([...names, ...(publicAddress ? [publicAddress.hostname] : [])]);
}

/** Whether the same is found again, and may do and see no less. Throws where that cannot be known. */
async function isStill({ person }: Caller, ask: () => Promise<Caller | undefined>): Promise<boolean> {
  try {
    const now = (await ask())?.person;
    if (now?.id !== person.id || (person.reach === 'all' && now.reach !== 'all')) return false;
    return person.scopes.every((scope) => now.scopes.includes(scope));
  } catch (error) {
    if (error instanceof UsageError) return false;
    throw error;
  }
}

/** Only Node tells where a connection comes from. */
function originOf(context: Context): Origin {
  const { incoming } = (context.env ?? {}) as { incoming?: { socket?: { remoteAddress?: string } } };
  return { address: incoming?.socket?.remoteAddress };
}
