// Serves the app on a Node socket, on this machine only by default, and stops without losing anything.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener, type Http2Bindings, type HttpBindings } from '@hono/node-server';
import { type Countersign, UsageError } from 'countersign';
import type { Stopped, Worker, WorkerOptions } from 'countersign/store';
import { type App, createAppWithLinks } from './app.ts';
import { aBoolean, aFunction, aNumber, aString, checkOptions, option } from './check-options.ts';
import { defined } from './defined.ts';
import { recordDeployed } from './deployed.ts';
import { Connections } from './http/connections.ts';
import { isLoopback } from './http/host-check.ts';
import { problemResponse } from './http/problem.ts';
import { addSecurityHeaders } from './http/security-headers.ts';
import { createLinkRenewal, DEVELOPER } from './identity/link-renewal.ts';
import { loginPath } from './identity/sessions.ts';
import { type AppOptions, AppOptionsShape } from './options.ts';
import { removeThoseWhoLeft } from './sign-in/removal.ts';
import { type TraceOptions, traceRuns } from './telemetry/trace-runs.ts';
import { unrecordedText } from './unrecorded.ts';

/** The options of `serve`. */
export type ServeOptions = AppOptions & {
  /** 3000 by default; 0 for any free port. */
  readonly port?: number;
  /** `127.0.0.1` by default, which only this machine reaches. */
  readonly hostname?: string;
  /**
   * For one developer on their own machine: `loginUrl` signs them in once as `dev`, who sees and decides everything, and
   * the metrics are open to everyone on this machine.
   */
  readonly dev?: boolean;
  /**
   * With `dev`: receives a fresh sign-in link after a sign-out, and when someone opens a link that was used or has expired.
   * `console.log` by default.
   */
  readonly onLoginUrl?: (url: string) => void;
  /** Options of the worker that takes over abandoned runs and handles deadlines in this process; false for no worker. */
  readonly worker?: WorkerOptions | false;
  /** Exports runs to OpenTelemetry; true uses the global providers. Off by default. See `traceRuns`. */
  readonly trace?: TraceOptions | true;
  /** Cuts a connection without traffic after so long, as when a client does not read; one minute by default. */
  readonly patienceMs?: number;
  /** SIGTERM and SIGINT stop the server and end the process; off by default. */
  readonly handleSignals?: boolean;
  /** Who deployed the rules and policies, for the record of their versions; COUNTERSIGN_DEPLOYED_BY, or the user and host, by default. */
  readonly deployedBy?: string;
  /** How long a stop waits for open requests before it cuts them; 10 seconds by default. */
  readonly graceMs?: number;
};

/** A running server. */
export type RunningServer = {
  readonly app: App;
  readonly port: number;
  /** The address of the server: `publicUrl` if given. */
  readonly url: string;
  /** A link that signs the developer in, valid once and for ten minutes; null unless `dev`. */
  readonly loginUrl: string | null;
  /** Refuses new work, lets running tools finish, leaves other work to the next worker, and closes. */
  close(): Promise<Stopped>;
};

const ServeOptionsShape = AppOptionsShape.extend({
  port: aNumber,
  // Node would listen on every address for an empty name.
  hostname: option((value) => typeof value === 'string' && value !== '', 'must be a name or an address'),
  dev: aBoolean,
  onLoginUrl: aFunction,
  worker: option((value) => value === false || typeof value === 'object', 'must be an object of options or false'),
  trace: option((value) => value === true || typeof value === 'object', 'must be an object of options or true'),
  patienceMs: aNumber,
  handleSignals: aBoolean,
  deployedBy: aString,
  graceMs: aNumber,
} satisfies Record<Exclude<keyof ServeOptions, keyof AppOptions>, unknown>);

/**
 * Serves the API and the inbox.
 * @example
 * const server = await serve(ai, { port: 3000, dev: true });
 * console.log(server.loginUrl);
 */
export async function serve(ai: Countersign, options: ServeOptions = {}): Promise<RunningServer> {
  checkOptions('serve', ServeOptionsShape, options);
  const { hostname = '127.0.0.1', dev = false } = options;
  // An option that is undefined must not replace a default that protects.
  const given = Object.entries(defined(options)).filter(([name]) => name in AppOptionsShape.shape);
  const isLocal = isLoopback(hostname);
  const address = Promise.withResolvers<string>();
  const { onLoginUrl = console.log, basePath = '' } = options;
  const printLink = async (token: string) => onLoginUrl(`${await address.promise}${loginPath(basePath, token)}`);
  const app = createAppWithLinks(
    ai,
    {
      ...(isLocal && { hosts: 'loopback' as const }),
      ...(dev && isLocal && { metrics: 'open' as const }),
      ...Object.fromEntries(given),
    },
    dev ? createLinkRenewal(ai.runs.notes, printLink) : undefined,
  );
  const cleanups: (() => unknown)[] = [() => app.end(), () => app.close()];
  try {
    const server = await start(ai, app, { ...options, hostname, dev }, cleanups);
    address.resolve(server.url);
    void recordDeployed(ai, options.deployedBy);
    return server;
  } catch (error) {
    // A second try must find the port free and nothing still running.
    for (const end of cleanups.reverse()) await end();
    throw error;
  }
}

/** Adds to `cleanups` how to end each part, in case a later part fails. */
async function start(
  ai: Countersign,
  app: App,
  options: ServeOptions & { readonly hostname: string; readonly dev: boolean },
  cleanups: (() => unknown)[],
): Promise<RunningServer> {
  const { port = 3000, hostname, dev } = options;
  const isLocal = isLoopback(hostname);
  const link = dev ? await app.loginPath(DEVELOPER) : null;
  const server = createServer(
    {
      // Limits for slow clients.
      headersTimeout: 10_000,
      requestTimeout: 60_000,
      connectionsCheckingInterval: 2_000,
      // Load balancers keep an idle connection for 60 s. One that the server closes earlier may lose their next request.
      keepAliveTimeout: 65_000,
    },
    getRequestListener((request, env) => (hasOneHost(env) ? app.fetch(request, env) : unreadable()), {
      overrideGlobalObjects: false,
      errorHandler: unreadable,
    }),
  );
  // Streams send comments more often than this, so only a client that does not read is silent.
  server.timeout = options.patienceMs ?? 60_000;
  const connections = new Connections(server);
  await once(server.listen(port, hostname), 'listening');
  cleanups.push(() => server.close().closeAllConnections());
  const onWorkerError = (error: unknown) => app.log('error', 'worker', { error });
  const worker = options.worker === false ? undefined : ai.runs.work({ onError: onWorkerError, ...options.worker });
  cleanups.push(() => worker?.stop());
  const onTraceError = (error: unknown) => app.log('warn', 'trace', { error });
  const { trace } = options;
  const tracing = trace && traceRuns(ai, { onError: onTraceError, ...(trace === true ? {} : trace) });
  cleanups.push(() => tracing?.stop());
  const endWatch = watchDirectory(ai, app);
  cleanups.push(endWatch);
  const bound = (server.address() as AddressInfo).port;
  const named = hostname.includes(':') ? `[${hostname}]` : hostname;
  const url = (
    options.publicUrl ?? `http://${isLocal && named === '127.0.0.1' ? 'localhost' : named}:${bound}`
  ).replace(/\/$/, '');
  const loginUrl = link === null ? null : `${url}${link}`;
  app.log('info', 'listening', { url, port: bound, hostname });

  let closing: Promise<Stopped> | undefined;
  const close = () => {
    endWatch();
    closing ??= stop(ai, app, { server, connections, worker, graceMs: options.graceMs ?? 10_000 })
      .finally(() => tracing?.stop())
      .finally(() => removeHandlers());
    return closing;
  };
  const removeHandlers = options.handleSignals ? onSignals(app, close) : () => undefined;
  return { app, port: bound, url, loginUrl, close };
}

/** Removes people who have left. Their votes and sign-ins are refused before, when they try. Returns how to end it. */
function watchDirectory(ai: Countersign, { log }: App): () => void {
  if (!ai.people.knowsWhoLeft) return () => undefined;
  const look = () =>
    removeThoseWhoLeft(ai).then(
      (removed) => removed.length > 0 && log('info', 'people', { message: `Removed ${removed.join(', ')}.` }),
      (error: unknown) => log('error', 'people', { error }),
    );
  const timer = setInterval(look, DIRECTORY_MS).unref();
  return () => clearInterval(timer);
}

const DIRECTORY_MS = 5 * 60_000;

/** Of several `Host` headers Node uses the first, and a proxy may have used another. */
function hasOneHost({ incoming }: HttpBindings | Http2Bindings): boolean {
  return !('headersDistinct' in incoming) || (incoming.headersDistinct.host?.length ?? 1) === 1;
}

/** Answers a request that is invalid before it reaches the app. */
function unreadable(): Response {
  const error = new UsageError('invalid-request', { status: 400 }, 'The URL or the host of the request is invalid.');
  const answer = problemResponse(error);
  addSecurityHeaders(answer.headers, false);
  return answer;
}

type Stopping = {
  readonly server: Server;
  readonly connections: Connections;
  readonly worker: Worker | undefined;
  readonly graceMs: number;
};

/** Refuses new work, ends streams, lets runs pause, and cuts open connections after the grace period. */
async function stop(ai: Countersign, app: App, { server, connections, worker, graceMs }: Stopping): Promise<Stopped> {
  app.log('info', 'stopping');
  app.retire();
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  app.close();
  connections.closeWhenIdle();
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  const first = await (worker ? worker.stop() : ai.runs.stop());
  await closed;
  clearTimeout(cut);
  // A request that was in progress when the stop began may have started a run.
  const last = await ai.runs.stop();
  const unrecorded = [...first.unrecorded, ...last.unrecorded];
  for (const call of unrecorded) app.log('error', 'unrecorded', { ...call, message: unrecordedText(call) });
  app.log('info', 'stopped');
  app.end();
  return { unrecorded };
}

function onSignals(app: App, close: () => Promise<Stopped>): () => void {
  const signals = ['SIGTERM', 'SIGINT'] as const;
  const end = (signal: NodeJS.Signals) => {
    app.log('info', 'signal', { signal });
    close().then(
      ({ unrecorded }) => process.exit(unrecorded.length > 0 ? 1 : 0),
      (error: unknown) => {
        app.log('error', 'stop', { error });
        process.exit(1);
      },
    );
  };
  for (const signal of signals) process.once(signal, end);
  return () => {
    for (const signal of signals) process.off(signal, end);
  };
}
