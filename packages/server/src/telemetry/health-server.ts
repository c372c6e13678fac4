// Serves health, readiness and metrics of a process that serves nothing else, such as a worker.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { OpenAPIHono } from '@hono/zod-openapi';
import type { Countersign } from 'countersign';
import { problemResponse } from '../http/problem.ts';
import { mountHealth } from './health.ts';
import { Measures } from './measures.ts';
import { watchRecords } from './records.ts';

export type HealthServer = {
  readonly port: number;
  /** From now on, `/readyz` answers 503. */
  retire(): void;
  close(): Promise<void>;
};

/** Without sign-in: `/metrics` is served only if it is open to everyone. */
export async function serveHealth(
  ai: Countersign,
  { port, hostname, metrics }: { readonly port: number; readonly hostname: string; readonly metrics: 'open' | 'off' },
): Promise<HealthServer> {
  let isRetired = false;
  const measures = new Measures();
  const stopRecords = watchRecords(ai, { measures, log: undefined, logInputs: false });
  const app = new OpenAPIHono();
  app.onError((error) => problemResponse(error));
  mountHealth(app, { ai, measures, metrics, isRetired: () => isRetired });
  const server = createServer(getRequestListener(app.fetch, { overrideGlobalObjects: false }));
  await once(server.listen(port, hostname), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    retire: () => {
      isRetired = true;
    },
    close: async () => {
      stopRecords();
      server.close();
      server.closeAllConnections();
    },
  };
}
