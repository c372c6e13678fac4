// The app: every route of the server behind one `fetch`, which can be mounted anywhere.
import { OpenAPIHono } from '@hono/zod-openapi';
import { type Countersign, UsageError } from 'countersign';
import { internalsOf } from 'countersign/store';
import type { Context } from 'hono';
import { Access, defaultDeciders } from './access.ts';
import { agUiEndpoints } from './agui/endpoint.ts';
import { documentOf } from './api/document.ts';
import { apiEndpoints } from './api/endpoints.ts';
import { createGrantsOnCards } from './api/grants-on-cards.ts';
import type { Services } from './api/services.ts';
import { connectChannels } from './channels/connect.ts';
import { mountChannels } from './channels/mount.ts';
import { checkOptions } from './check-options.ts';
import { mountEndpoint } from './http/endpoint.ts';
import { type HostNames, LOOPBACK, refuseOtherHosts } from './http/host-check.ts';
import { methodNotAllowed } from './http/methods.ts';
import { OpenStreams } from './http/open-streams.ts';
import { isSafeMethod, refuseOtherOrigins } from './http/origin-check.ts';
import { problemResponse } from './http/problem.ts';
import { addSecurityHeaders } from './http/security-headers.ts';
import { type Caller, callerOf, type Origin } from './identity/identify.ts';
import { signInMemory } from './identity/known-people.ts';
import type { RenewLink } from './identity/link-renewal.ts';
import { mailSignIn } from './identity/mail-sign-in.ts';
import type { Identified } from './identity/person.ts';
import { unlessRemoved } from './identity/person-by-id.ts';
import { createLoginToken, loginPath, type SessionCookie, sessionCookie } from './identity/sessions.ts';
import { createRemarks } from './insights/remarks.ts';
import { decisionLinks } from './links/decision-links.ts';
import { mountDecisionLinks } from './links/mount.ts';
import { AssigneeWatch } from './live/assignee-watch.ts';
import { Hub } from './live/hub.ts';
import { createRunEvents } from './live/run-events.ts';
import { createLog, type Log } from './log.ts';
import { mountMcp } from './mcp/mount.ts';
import { type AppOptions, AppOptionsShape } from './options.ts';
import { CARD_STYLE, CARD_STYLESHEET } from './pages/card-page.ts';
import { mountCompanySignIn } from './pages/company-sign-in.ts';
import { type ApiDocument, DOCS_STYLE, docsPage } from './pages/docs.ts';
import { htmlResponse } from './pages/html.ts';
import { createInbox } from './pages/inbox.ts';
import { login, logout, logoutPage, type SigningIn } from './pages/login.ts';
import { mountMailSignIn } from './pages/mail-sign-in.ts';
import { createBackChannel } from './sign-in/back-channel.ts';
import { companySignInOf } from './sign-in/company-sign-in.ts';
import { createRecheck } from './sign-in/recheck.ts';
import { mountHealth } from './telemetry/health.ts';
import { documentHealth } from './telemetry/health-document.ts';
import { Measures } from './telemetry/measures.ts';
import { watchRecords } from './telemetry/records.ts';
import { watchRequests } from './telemetry/requests.ts';

/** A server without a socket. */
export type App = {
  /** Answers a request. The client's address is read from Node's `incoming` in `env`, if present. */
  fetch(request: Request, env?: unknown): Promise<Response>;
  /** The Hono app, to mount in another: `host.route('/approvals', app.hono)`, with `basePath: '/approvals'`. */
  readonly hono: OpenAPIHono;
  readonly log: Log;
  /** The path of a link that signs this person in, valid once and for ten minutes. */
  loginPath(person: Omit<Identified, 'context'>): Promise<string>;
  /** Makes `/readyz` answer 503, so that a load balancer sends new work elsewhere. */
  retire(): void;
  /** Ends every open stream and answers 503 to every request that would change something. */
  close(): void;
  /** Stops counting and logging the runs of `ai`. Call it last. */
  end(): void;
};

const BASE = '/api/v1';

/**
 * Makes the HTTP API and the inbox for the agents of `ai`, which needs a store.
 * @example
 * const app = createApp(ai, { identify: headerIdentity({ header: 'x-user', trustedProxies: ['127.0.0.1'] }) });
 * export default { fetch: app.fetch };
 */
export function createApp(ai: Countersign, options: AppOptions = {}): App {
  return createAppWithLinks(ai, options, undefined);
}

/** `renewLink` prints a fresh sign-in link for the developer, when one no longer works. */
export function createAppWithLinks(ai: Countersign, given: AppOptions, renewLink: RenewLink | undefined): App {
  checkOptions('createApp', AppOptionsShape, given);
  const options = { ...given, identifyPerson: unlessRemoved(ai, given.identifyPerson) };
  const { basePath = '', publicUrl, maxStreams = 2_000 } = options;
  const publicAddress = publicUrl === undefined ? undefined : new URL(publicUrl);
  const hub = new Hub(ai.runs);
  const measures = new Measures();
  const log = createLog(options.log);
  const origins = [...(options.allowedOrigins ?? []), ...(publicAddress ? [publicAddress.origin] : [])];
  const streams = new OpenStreams({
    measures,
    limit: maxStreams,
    limitPerPerson: Math.min(options.maxStreamsPerPerson ?? Math.min(200, Math.ceil(maxStreams / 2)), maxStreams),
    checkMs: options.streamCheckMs ?? 30_000,
    lifetimeMs: options.streamLifetimeMs ?? 3_600_000,
    closed: hub.closed,
  });
  internalsOf(ai).policies.defaultDeciders = defaultDeciders;
  const access = new Access(ai, options, log);
  const services: Services = {
    ai,
    access,
    remarks: createRemarks(ai, access, log),
    grantsOn: createGrantsOnCards(ai, access),
    hub,
    // The id of a request starts with the id of its run.
    assignees: new AssigneeWatch(ai.runs.notes, (id) => hub.changed(id.slice(0, id.indexOf(':')))),
    streams,
    followRun: createRunEvents(ai.runs, hub),
    log,
    addressOf: (request) => publicAddress ?? new URL(request.url),
    basePath,
    mcp: options.mcp ?? {},
    whilePending: options.whilePending,
    keepAliveMs: options.keepAliveMs ?? 15_000,
    model: options.model ?? { name: 'unnamed', demo: false },
  };
  const stopRecords = watchRecords(ai, { measures, log: options.log && log, logInputs: options.logInputs ?? false });
  const { notes } = ai.runs;
  const cookieFor = (context: Context): SessionCookie => sessionCookie(publicAddress ?? new URL(context.req.url));
  const byMail = mailSignIn(ai, { ...options, basePath, log });
  const company = companySignInOf(ai, options);
  const recheck = createRecheck({ notes, log, find: (name) => company?.find(name) });
  const signingIn: SigningIn = { notes, basePath, renewLink, byMail, company, addressOf: services.addressOf };
  const remember = signInMemory(ai);
  let isRetired = false;

  async function findCaller(context: Context): Promise<Caller | undefined> {
    const identification = { notes, cookie: cookieFor(context), identify: options.identify, recheck };
    const ask = (isUse = false) => callerOf(identification, context.req.raw, originOf(context), isUse);
    const caller = await ask(true);
    const own = publicAddress ?? new URL(context.req.url);
    refuseOtherOrigins(context.req.raw, caller?.proof, new Set([...origins, own.origin]));
    if (caller) {
      context.set('person', caller.person.id);
      await remember(caller.person.id, caller.person.name);
      context.set('stillKnown', () => isStill(caller, ask));
    }
    return caller;
  }

  async function caller(context: Context): Promise<Caller> {
    const found = await findCaller(context);
    if (found) return found;
    throw new UsageError('not-authorized', { status: 401 }, 'Not signed in. Sign in, or send an API token.');
  }

  const hono = new OpenAPIHono({ getPath: (request) => pathBelow(basePath, new URL(request.url).pathname) });
  hono.onError((error, context: Context) => problemResponse(error, context.get('requestId')));
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
  // A HEAD request would open a stream that is never read.
  api.use('*', async (context, next) => {
    if (context.req.method === 'HEAD') throw methodNotAllowed('HEAD', ['GET']);
    await next();
  });
  const endpoints = apiEndpoints(services);
  const limits = { maxBodyBytes: options.maxBodyBytes ?? 1_000_000, bodyTimeoutMs: options.bodyTimeoutMs ?? 30_000 };
  for (const endpoint of endpoints) mountEndpoint(api, endpoint, { caller, streams, ...limits });
  const metrics = options.metrics ?? 'token';
  documentHealth(api.openAPIRegistry, basePath === '' ? '/' : basePath, metrics);
  // Takes a quarter of the time of a start, and few servers are asked for it.
  let document: ApiDocument | undefined;
  const findDocument = () => (document ??= documentOf(api, `${basePath}${BASE}`));
  api.get('/openapi.json', () => Response.json(findDocument()));
  api.get('/docs', () => htmlResponse(docsPage(findDocument(), 'docs.css')));
  api.get('/docs.css', () => stylesheet(DOCS_STYLE));
  for (const [path, routes] of Map.groupBy(api.routes, (route) => route.path)) {
    const allowed = routes.map(({ method }) => method);
    if (!path.includes('*'))
      api.all(path, ({ req }) => {
        throw methodNotAllowed(req.method, allowed);
      });
  }
  hono.route(BASE, api);
  // The same route without the version of the API, as AG-UI servers have it.
  const agUi = new OpenAPIHono();
  for (const endpoint of agUiEndpoints(services)) mountEndpoint(agUi, endpoint, { caller, streams, ...limits });
  hono.route('/', agUi);

  mountHealth(hono, { ai, measures, metrics, caller, isRetired: () => isRetired });
  const signIn = async (context: Context): Promise<Response> =>
    login(signingIn, cookieFor(context), context.req.raw, await findCaller(context));
  hono.get('/login', async (context) => {
    // A HEAD request must not use up a sign-in link.
    if (context.req.method === 'HEAD' && context.req.query('token') !== undefined)
      throw methodNotAllowed('HEAD', ['GET']);
    return signIn(context);
  });
  hono.post('/login', signIn);
  if (byMail) mountMailSignIn(hono, signingIn, byMail, { findCaller, cookieFor });
  if (company) {
    const backChannel = createBackChannel(notes, log);
    const clientOf = (context: Context) => originOf(context).address;
    mountCompanySignIn(hono, signingIn, { company, backChannel, findCaller, cookieFor, clientOf, log });
  }
  hono.get('/logout', async (context) => logoutPage(signingIn, await findCaller(context)));
  hono.post('/logout', async (context) => {
    const signedIn = await findCaller(context);
    return logout(signingIn, cookieFor(context), context.req.raw, signedIn);
  });
  hono.get(CARD_STYLESHEET, () => stylesheet(CARD_STYLE));

  const links = options.links === false ? undefined : decisionLinks(services, { ...options, links: options.links });
  if (links) mountDecisionLinks(hono, links, { findCaller, maxBodyBytes: limits.maxBodyBytes });
  const bodyLimits = { maxBytes: limits.maxBodyBytes, timeoutMs: limits.bodyTimeoutMs };
  mountMcp(hono, services, options, { caller, limits: bodyLimits });
  connectChannels(services, options, links?.make);
  mountChannels(hono, services, options);
  const inbox = createInbox(options.inboxDir, basePath);
  const nothing = ({ req }: Context): never => {
    throw new UsageError('not-found', { status: 404 }, `${req.path.slice(0, 200)} not found.`);
  };
  hono.all('/api', nothing);
  hono.all('/api/*', nothing);
  // Mounted in another Hono app, the request still has the whole path.
  const isBelow = (path: string): boolean => basePath !== '' && path.startsWith(`${basePath}/`);
  hono.all('*', ({ req }) => inbox(isBelow(req.path) ? req.path.slice(basePath.length) : req.path, req.raw));

  return {
    fetch: async (request, env) => hono.fetch(request, env as object),
    hono,
    log,
    loginPath: async (person) => loginPath(basePath, await createLoginToken(notes, person)),
    retire: () => {
      isRetired = true;
    },
    close: () => hub.close(),
    end: stopRecords,
  };
}

const stylesheet = (text: string): Response =>
  new Response(text, { headers: { 'content-type': 'text/css; charset=utf-8' } });

function stopping(): UsageError {
  return new UsageError(
    'server-stopping',
    { status: 503, headers: { connection: 'close', 'retry-after': '1' } },
    'The server is stopping and takes no new work. Nothing was done; send the request again in a moment.',
  );
}

/** The path below `basePath`; any other path leads to a 404. */
function pathBelow(basePath: string, path: string): string {
  if (basePath === '') return path;
  if (path === basePath) return '/';
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : '/api/outside';
}

function hostNames({ hosts }: AppOptions, publicAddress: URL | undefined): HostNames {
  if (hosts === undefined) return undefined;
  const names = hosts === 'loopback' ? LOOPBACK : hosts;
  return new Set([...names, ...(publicAddress ? [publicAddress.hostname] : [])]);
}

/** Whether the same person is still signed in with no fewer rights. Throws if that cannot be checked now. */
async function isStill({ person }: Caller, ask: () => Promise<Caller | undefined>): Promise<boolean> {
  try {
    const now = (await ask())?.person;
    if (now?.id !== person.id || (person.reach === 'all' && now.reach !== 'all')) return false;
    const { scopes, roles } = now;
    return person.scopes.every((scope) => scopes.includes(scope)) && person.roles.every((role) => roles.includes(role));
  } catch (error) {
    if (error instanceof UsageError) return false;
    throw error;
  }
}

function originOf(context: Context): Origin {
  const { incoming } = (context.env ?? {}) as { incoming?: { socket?: { remoteAddress?: string } } };
  return { address: incoming?.socket?.remoteAddress };
}
