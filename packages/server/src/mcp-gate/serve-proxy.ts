// Serves the gateway before an MCP server on the network.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { type HttpProxyOptions, httpProxy } from './http-proxy.ts';

export async function serveProxy(
  options: HttpProxyOptions & { readonly port: number },
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const { host, port, url } = options;
  const server = createServer(getRequestListener(httpProxy(options)));
  // A call may wait for a person.
  server.requestTimeout = 0;
  server.listen(port, host);
  await once(server, 'listening');
  const { port: chosen } = server.address() as AddressInfo;
  const shown = host.includes(':') ? `[${host}]` : host;
  return {
    url: `http://${shown}:${chosen}${new URL(url).pathname}`,
    close: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
