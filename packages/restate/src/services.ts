// The services that Restate calls: they keep the runs, and copy them into the lists.
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import * as restate from '@restatedev/restate-sdk';
import type { Store } from 'countersign/store';
import { handlerClock } from './handler-clock.ts';
import { SHORT } from './handler-options.ts';
import { listsObject } from './lists-object.ts';
import { noteObject } from './note-object.ts';
import { runObject } from './run-object.ts';
import { startsObject } from './starts-object.ts';
import { clockName } from './wire.ts';

/** Options of `restateServices`. */
export type RestateServicesOptions = {
  /** The store that lists, searches and statistics come from; the same as that of `restateStore`. */
  readonly lists: Store;
  /** What the names of the services begin with, so that several applications can share a cluster. Default: `countersign`. */
  readonly name?: string;
  /** The clock, in milliseconds. Default: the clock of the process. */
  readonly now?: () => number;
};

/** The services, for your own endpoint: pass them to `restate.serve` or to `endpoint().bind`. */
export function restateServices(options: RestateServicesOptions) {
  const { lists, name = 'countersign' } = options;
  const clock = handlerClock(options.now);
  const { enableLazyState: _, ...short } = SHORT;
  const time = restate.service({ name: clockName(name), handlers: { now: restate.handlers.handler(short, clock) } });
  return [runObject(name, clock), noteObject(name, clock), startsObject(name), listsObject(name, lists), time];
}

/** Options of `serveRestate`. */
export type ServeRestateOptions = RestateServicesOptions & {
  /** Default: 9080. 0 takes a free one. */
  readonly port?: number;
  /** Default: all interfaces. */
  readonly hostname?: string;
  /** The public keys of the cluster (`publickeyv1_…`). Requests without a signature by one of them are refused. */
  readonly identityKeys?: readonly string[];
  /** Called with warnings and errors of the services. Default: the console. */
  readonly log?: (message: string) => void;
};

/** An endpoint that serves. */
export type RestateEndpoint = {
  readonly port: number;
  /** Stops taking calls, and resolves once those in progress have ended. Restate sends them to another process. */
  readonly close: () => Promise<void>;
};

/** Serves the services to Restate, by HTTP/2. Register the address of each endpoint with the cluster once per release. */
export async function serveRestate(options: ServeRestateOptions): Promise<RestateEndpoint> {
  const { port = 9080, hostname, identityKeys, log = console.error } = options;
  const handler = restate.createEndpointHandler({
    services: restateServices(options),
    ...(identityKeys && { identityKeys: [...identityKeys] }),
    logger: ({ level }, ...message) => {
      if (level === restate.RestateLogLevel?.WARN || level === restate.RestateLogLevel?.ERROR) log(message.join(' '));
    },
  });
  const server = createServer(handler);
  const sessions = new Set<{ close(): void; destroy(): void }>();
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, hostname, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const session of sessions) session.close();
        // A session with an open stream of Restate would keep the process.
        setTimeout(() => sessions.forEach((session) => void session.destroy()), CLOSE_MS).unref();
      }),
  };
}

const CLOSE_MS = 3_000;
