// The MCP gateway before a server that speaks Streamable HTTP, with clients of both SDKs.
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer as createHttpServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { McpGate } from '../../src/mcp-gate/mcp-gate.ts';
import { serveProxy } from '../../src/mcp-gate/serve-proxy.ts';
import { type Gateway, openGateway } from './gateway.ts';
import { createServer } from './modern-server.ts';

let place: Gateway;
let upstream: Server;
let served: Awaited<ReturnType<typeof serveProxy>>;
let gate: McpGate;
const seen: (string | null)[] = [];

beforeAll(async () => {
  place = openGateway();
  const handler = createMcpHandler(() => createServer(place.path('ledger')));
  upstream = createHttpServer(
    getRequestListener((request) => {
      seen.push(request.headers.get('authorization'));
      return handler.fetch(request);
    }),
  );
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/mcp`;
  gate = await McpGate.open({ ai: place.ai, name: 'bank', holdMs: 1_000 });
  served = await serveProxy({ url, gate, by: 'ada', host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await served.close();
  await gate.close();
  upstream.closeAllConnections();
  upstream.close();
  await place.close();
});

const headers = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } });
async function modern(token = 'ada') {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(new URL(served.url), headers(token)));
  return client;
}
const paid = (to: string): number =>
  existsSync(place.path('ledger'))
    ? readFileSync(place.path('ledger'), 'utf8')
        .split('\n')
        .filter((line) => line === to).length
    : 0;
const decide = async (decision: 'approve' | 'reject') =>
  place.ai.runs.decide((await place.pending())[0]?.id ?? '', decision, { by: 'bea' });

test('a modern client lists the same tools, waits leg by leg, and the call is sent once', async () => {
  const client = await modern();
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['pay', 'hang', 'confirm']);
  expect(seen).toContain('Bearer ada');
  const paying = client.callTool({ name: 'pay', arguments: { to: 'ACME' } });
  await place.pending();
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  await decide('approve');
  expect(await paying).toMatchObject({ content: [{ text: 'paid ACME' }] });
  expect(paid('ACME')).toBe(1);
  await client.close();
});

test('the state of one client does not work with the credentials of another', async () => {
  const [ada, eve] = [await modern('ada'), await modern('eve')];
  const call = { name: 'pay', arguments: { to: 'Bolt' } };
  const options = { allowInputRequired: true } as never;
  const { requestState } = (await ada.callTool(call, options)) as unknown as { requestState: string };
  await decide('approve');
  await expect(eve.callTool({ ...call, requestState } as never, options)).rejects.toMatchObject({ code: -32602 });
  expect(paid('Bolt')).toBe(0);
  expect(await ada.callTool({ ...call, requestState } as never, options)).toMatchObject({
    content: [{ text: 'paid Bolt' }],
  });
  expect(paid('Bolt')).toBe(1);
  await Promise.all([ada.close(), eve.close()]);
});

test('a client of the SDK 1.x waits, is told to call again, and the same call continues', async () => {
  const client = new LegacyClient({ name: 'test', version: '1' });
  await client.connect(new LegacyTransport(new URL(served.url), headers('lea')) as never);
  const call = { name: 'pay', arguments: { to: 'Crew' } };
  expect(await client.callTool(call)).toMatchObject({ isError: true });
  await decide('approve');
  expect(await client.callTool(call)).toMatchObject({ content: [{ text: 'paid Crew' }] });
  const rejected = client.callTool({ ...call, arguments: { to: 'Dana' } });
  await decide('reject');
  expect(await rejected).toMatchObject({ isError: true });
  expect([paid('Crew'), paid('Dana')]).toEqual([1, 0]);
  await client.close();
});

test('batches, other origins and other paths are refused', async () => {
  const post = (url: string, body: string, more: object = {}) =>
    fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...more } });
  expect((await post(served.url, '[{"jsonrpc":"2.0","id":1,"method":"tools/call"}]')).status).toBe(400);
  expect((await post(served.url, '{}', { origin: 'https://evil.example' })).status).toBe(403);
  expect((await post(served.url.replace('/mcp', '/other'), '{}')).status).toBe(404);
});
