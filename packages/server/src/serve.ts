// The app on a socket of Node: bound to this machine unless told otherwise, stopped without losing anything.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener, type Http2Bindings, type HttpBindings } from '@hono/node-server';
import { type Countersign, type Stopped, UsageError, type Worker, type WorkerOptions } from 'countersign';
import { type App, createApp } from './app.ts';
import { Connections } from './http/connections.ts';
import { isLoopback } from './http/host-check.ts';
import { problemResponse } from './http/problem.ts';
import { addSecurityHeaders } from './http/security-headers.ts';
import { keysOf, refuseUnknownKeys } from './known-keys.ts';
import { APP_KEYS, type AppOptions } from './options.ts';
import { prepareSearch } from './prepare-search.ts';
import { type TraceOptions, type Tracing, traceRuns } from './telemetry/trace-runs.ts';
import { unrecordedText } from './unrecorded.ts';

/** The options of `serve`. */
export type ServeOptions = AppOptions & {
  /** 3000 unless given; 0 for any that is free. */
  readonly port?: number;
  /** `127.0.0.1` unless given: only this machine reaches it. */
  readonly hostname?: string;
  /**
   * For one person on their own machine: `loginUrl` signs them in once, as `dev`, who sees and decides everything, and
   * anybody on this machine may read the metrics.
   */
  readonly dev?: boolean;
  /** Takes up runs that nobody drives, and deadlines, in this process; how, or false. It does unless given. */
  readonly worker?: WorkerOptions | false;
  /** Tells OpenTelemetry of the runs; with the global providers if true. Not unless given. See `traceRuns`. */
  readonly trace?: TraceOptions | true;
  /** A connection on which nothing moves for so long is cut, as when a client does not read; a minute unless given. */
  readonly patienceMs?: number;
  /** SIGTERM and SIGINT stop the server and end the process; not unless given. */
  readonly handleSignals?: boolean;
  /** How long open requests may take to end when the server is stopped; 10 seconds unless given. */
  readonly graceMs?: number;
};

/** A server that runs. */
export type RunningServer = {
  readonly app: App;
  readonly port: number;
  /** Where it is reached: `publicUrl` if that was given. */
  readonly url: string;
  /** Signs the developer in, once and within ten minutes; null unless `dev`. */
  readonly loginUrl: string | null;
  /** Takes nothing more, lets what runs come to its next rest, hands the rest over, and closes. */
  close(): Promise<Stopped>;
};

const SERVE_KEYS = keysOf<Omit<ServeOptions, keyof AppOptions>>({
  port: true,
  hostname: true,
  dev: true,
  worker: true,
  trace: true,
  patienceMs: true,
  handleSignals: true,
  graceMs: true,
});

/** A slow client may not hold a connection for longer, in milliseconds. */
const HEADERS_MS = 10_000;
const REQUEST_MS = 60_000;

/**
 * Serves the API and the inbox.
 * @example
 * const server = await serve(ai, { port: 3000, dev: true });
 * console.log(server.loginUrl);
 */
export async function serve(ai: Countersign, options: ServeOptions = {}): Promise<RunningServer> {
  refuseUnknownKeys('serve', options, [...APP_KEYS, ...SERVE_KEYS]);
  const { hostname = '127.0.0.1', dev = false } = options;
  // Node would take it for every address that this machine has.
  if (typeof hostname !== 'string' || hostname === '')
    throw new UsageError('invalid-options', { option: 'hostname' }, '`hostname` must be a name or an address.');
  // What is undefined is not given, and takes the place of nothing that protects.
  const given = Object.entries(options).filter(([key, value]) => APP_KEYS.includes(key) && value !== undefined);
  const ofApp: AppOptions = Object.fromEntries(given);
  const isLocal = isLoopback(hostname);
  const app = createApp(ai, {
    ...(isLocal && { hosts: 'loopback' as const }),
    ...(dev && isLocal && { metrics: 'open' as const }),
    ...ofApp,
  });
  const begun: (() => unknown)[] = [() => app.end(), () => app.close()];
  try {
    return await begin(ai, app, { ...options, hostname, dev }, begun);
  } catch (error) {
    // Whoever tries again finds the port free, and nothing that runs on.
    for (const end of begun.reverse()) await end();
    throw error;
  }
}

/** `begun`: how to end what was begun, should the rest fail. */
async function begin(
  ai: Countersign,
  app: App,
  options: ServeOptions & { readonly hostname: string; readonly dev: boolean },
  begun: (() => unknown)[],
): Promise<RunningServer> {
  const { port = 3000, hostname, dev } = options;
  const isLocal = isLoopback(hostname);
  const ending = new AbortController();
  begun.push(() => ending.abort());
  await prepareSearch(ai.runs.store, app.log, ending.signal);
  const loginPath = dev ? await app.loginPath({ id: 'dev', name: 'Developer', reach: 'all' }) : null;
  const server = createServer(
    {
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      connectionsCheckingInterval: 2_000,
      keepAliveTimeout: 5_000,
    },
    getRequestListener((request, env) => (hasOneHost(env) ? app.fetch(request, env) : unreadable()), {
      overrideGlobalObjects: false,
      errorHandler: unreadable,
    }),
  );
  // Streams give signs of life more often than this; only who does not read them falls silent.
  server.timeout = options.patienceMs ?? 60_000;
  const connections = new Connections(server);
  await listening(server, port, hostname);
  begun.push(() => server.close().closeAllConnections());
  const worker = options.worker === false ? undefined : startWorker(ai, app, options.worker);
  begun.push(() => worker?.stop());
  const tracing = startTracing(ai, app, options.trace);
  begun.push(() => tracing?.stop());
  const bound = (server.address() as AddressInfo).port;
  const named = hostname.includes(':') ? `[${hostname}]` : hostname;
  const url = (
    options.publicUrl ?? `http://${isLocal && named === '127.0.0.1' ? 'localhost' : named}:${bound}`
  ).replace(/\/$/, '');
  const loginUrl = loginPath === null ? null : `${url}${loginPath}`;
  app.log('info', 'listening', { url, port: bound, hostname });

  let closing: Promise<Stopped> | undefined;
  const close = () => {
    ending.abort();
    closing ??= stop(ai, app, { server, connections, worker, graceMs: options.graceMs ?? 10_000 })
      .finally(() => tracing?.stop())
      .finally(() => letGo());
    return closing;
  };
  const letGo = options.handleSignals ? onSignals(app, close) : () => undefined;
  return { app, port: bound, url, loginUrl, close };
}

/** Of several, Node takes the first, and whoever stands in front may have taken another. */
function hasOneHost({ incoming }: HttpBindings | Http2Bindings): boolean {
  return !('headersDistinct' in incoming) || (incoming.headersDistinct.host?.length ?? 1) === 1;
}

/** What is no request that can be read never reaches the app. */
function unreadable(): Response {
  const error = new UsageError('invalid-request', { status: 400 }, 'The address or the host cannot be read.');
  const answer = problemResponse(error);
  addSecurityHeaders(answer.headers, false);
  return answer;
}

function listening(server: Server, port: number, hostname: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, hostname, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function startWorker(ai: Countersign, app: App, options: WorkerOptions = {}): Worker {
  const { onError = (error: unknown) => app.log('error', 'worker', { error }), ...rest } = options;
  return ai.runs.work({ ...rest, onError });
}

function startTracing(ai: Countersign, app: App, trace: ServeOptions['trace']): Tracing | undefined {
  if (trace === undefined) return undefined;
  return traceRuns(ai, { onError: (error) => app.log('warn', 'trace', { error }), ...(trace === true ? {} : trace) });
}

type Stopping = {
  readonly server: Server;
  readonly connections: Connections;
  readonly worker: Worker | undefined;
  readonly graceMs: number;
};

/** Refuses new work, ends streams, lets runs pause, and cuts what is still open after the grace period. */
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
