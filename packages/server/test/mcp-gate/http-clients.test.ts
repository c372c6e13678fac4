// The gateway on the network: clients that cannot be told apart, redirects, other content types, and streams that break.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { McpGate } from '../../src/mcp-gate/mcp-gate.ts';
import { serveProxy } from '../../src/mcp-gate/serve-proxy.ts';
import { type Gateway, openGateway } from './gateway.ts';
import { linesOf, recordingHttp } from './recording-server.ts';

let place: Gateway;
let gate: McpGate;
let url: string;
let release: () => void;
let received: readonly IncomingHttpHeaders[];
const closing: (() => void)[] = [];

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

/** A gateway before a server. */
async function before(server: Server): Promise<string> {
  const served = await serveProxy({ url: await listening(server), gate, by: 'ada', host: '127.0.0.1', port: 0 });
  closing.push(() => void served.close());
  return served.url;
}

beforeAll(async () => {
  place = openGateway();
  const rules = { otherwise: 'allow', rules: [{ tool: ['wipe', 'shot'], then: 'ask' }] } as const;
  gate = await McpGate.open({ ai: place.ai, name: 'bank', rules, holdMs: 10_000 });
  const recording = recordingHttp(place.path('log'));
  ({ release, headers: received } = recording);
  url = await before(recording.server);
});
afterAll(async () => {
  for (const close of closing.reverse()) close();
  await gate.close();
  await place.close();
});

type Sent = { readonly status: number; readonly answer: any };
async function post(message: object, headers: Record<string, string> = {}, to = url): Promise<Sent> {
  const all = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers };
  const response = await fetch(to, {
    method: 'POST',
    headers: all,
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    redirect: 'manual',
  });
  const text = (await response.text()).split('\n').findLast((line) => /^(data: )?\{/.test(line));
  return { status: response.status, answer: text === undefined ? undefined : JSON.parse(text.replace(/^data: /, '')) };
}
const call = (name: string, input: object = {}, id = 1) => ({
  id,
  method: 'tools/call',
  params: { name, arguments: input },
});
const cancel = (requestId: number) => ({ method: 'notifications/cancelled', params: { requestId } });
const sent = (part: string) => linesOf(place.path('log')).filter((line) => line.includes(part));

test('two clients without tokens count ids from 1, and each gets its own call', async () => {
  const calls = ['a', 'b'].map((who) => post(call('slow', { who })));
  await expect.poll(() => sent('"slow"').length, { timeout: 10_000 }).toBe(2);
  release();
  const answers = await Promise.all(calls);
  expect(answers.map(({ answer }) => answer)).toMatchObject([
    { id: 1, result: { content: [{ text: '{"who":"a"}' }] } },
    { id: 1, result: { content: [{ text: '{"who":"b"}' }] } },
  ]);
});

test('a client without a token cannot cancel, continue or receive a call of another', async () => {
  const first = post(call('wipe', { what: 1 }));
  const [request] = await place.pending();
  expect(await post(cancel(1))).toMatchObject({ status: 202 });
  expect(await post(cancel(1), { 'mcp-session-id': 'of another' })).toMatchObject({ status: 202 });
  expect(sent('cancelled')).toEqual([]);
  const second = post(call('wipe', { what: 1 }));
  const requests = await place.pending(2);
  for (const { id } of requests) if (id !== request?.id) await place.ai.runs.decide(id, 'reject');
  expect(await second).toMatchObject({ answer: { result: { isError: true } } });
  await place.ai.runs.decide(request?.id ?? '', 'approve');
  expect(await first).toMatchObject({ answer: { id: 1, result: { content: [{ text: 'wipe {"what":1}' }] } } });
  expect(sent('"wipe"')).toHaveLength(1);
}, 30_000);

test('headers that repeat the body are written from the body', async () => {
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
  const pay = { id: 1, method: 'tools/call', params: { name: 'pay', arguments: { amount: 1 }, _meta } };
  await post(pay, { 'mcp-method': 'ping', 'mcp-name': 'wipe', 'mcp-param-amount': '1000000' });
  expect(received.at(-1)).toMatchObject({ 'mcp-method': 'tools/call', 'mcp-name': 'pay' });
  expect(received.at(-1)).not.toHaveProperty('mcp-param-amount');
});

test('a session cancels its own call', async () => {
  const session = { 'mcp-session-id': 'own' };
  const held = post(call('wipe', { what: 2 }, 5), session);
  await place.pending();
  await post(cancel(5), session);
  await held;
  await expect.poll(async () => (await place.ai.runs.requests()).items, { timeout: 10_000 }).toEqual([]);
});

test('fields with a default are optional, even if the server lists them as required', async () => {
  const shot = post(call('shot', { url: 'https://example.com' }));
  const [request] = await place.pending();
  await place.ai.runs.decide(request?.id ?? '', 'approve');
  expect(await shot).toMatchObject({
    answer: { result: { content: [{ text: 'shot {"url":"https://example.com"}' }] } },
  });
  expect(await post(call('shot', {}))).toMatchObject({ answer: { result: { isError: true } } });
});

test('other content types and methods are refused, as a page of another origin could send them', async () => {
  const before = linesOf(place.path('log')).length;
  expect(await post(call('pay'), { 'content-type': 'text/plain' })).toMatchObject({ status: 415 });
  expect((await fetch(url, { method: 'PUT', body: '{}' })).status).toBe(405);
  expect(linesOf(place.path('log'))).toHaveLength(before);
});

test('a redirect is not followed: an allowed call fails, and an approved one is in doubt', async () => {
  const elsewhere: string[] = [];
  const other = await listening(
    createServer((request, response) => {
      elsewhere.push(request.url ?? '');
      response.end();
    }),
  );
  const redirecting = await before(
    createServer(async (request, response) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      const message = JSON.parse(text);
      if (message.method === 'tools/call') return void response.writeHead(307, { location: other }).end();
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { tools: [] } }));
    }),
  );
  expect(await post(call('pay'), {}, redirecting)).toMatchObject({
    answer: { error: { message: expect.stringContaining('may have run') } },
  });
  const wiping = post(call('wipe', { what: 3 }), {}, redirecting);
  const [request] = await place.pending();
  await place.ai.runs.decide(request?.id ?? '', 'approve');
  expect((await wiping).answer.result.content[0].text).toContain('outcome is unknown');
  expect(elsewhere).toEqual([]);
  for (const { id } of await place.pending()) await place.ai.runs.decide(id, 'reject');
});

test('a stream that ends in mid-call and cannot be resumed leaves a doubt', async () => {
  const begin = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' });
  const resumed: (string | undefined)[] = [];
  const ending = await before(
    createServer(async (request, response) => {
      if (request.method === 'GET') {
        resumed.push(request.headers['last-event-id'] as string);
        return void response.writeHead(404).end();
      }
      let text = '';
      for await (const chunk of request) text += chunk;
      const message = JSON.parse(text);
      const list = { jsonrpc: '2.0', id: message.id, result: { tools: [] } };
      const data = message.method === 'tools/list' ? JSON.stringify(list) : '';
      begin(response).end(`id: e1\nretry: 10\ndata: ${data}\n\n`);
    }),
  );
  const session = { 'mcp-session-id': 'ends' };
  const wiping = fetch(ending, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...session },
    body: JSON.stringify({ jsonrpc: '2.0', ...call('wipe', { what: 4 }) }),
  });
  const [request] = await place.pending();
  await place.ai.runs.decide(request?.id ?? '', 'approve');
  expect(await (await wiping).text()).toContain('id: e1');
  const rest = await fetch(ending, { headers: { ...session, 'last-event-id': 'e1' } });
  expect(await rest.text()).toContain('outcome is unknown');
  expect(resumed).toEqual(['e1']);
});
