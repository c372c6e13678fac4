// Held calls as tasks of the protocol 2026-07-28 over HTTP, with the official package for such clients, and as bare messages.
import { once } from 'node:events';
import { createServer as createHttpServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { McpGate } from '../../src/mcp-gate/mcp-gate.ts';
import { serveProxy } from '../../src/mcp-gate/serve-proxy.ts';
import { type Gateway, openGateway } from './gateway.ts';
import { createServer } from './modern-server.ts';
import { linesOf } from './recording-server.ts';

let place: Gateway;
let upstream: Server;
let running: Awaited<ReturnType<typeof start>>;

async function start(options: { decideInClient?: boolean } = {}) {
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/mcp`;
  const gate = await McpGate.open({ ai: place.ai, name: 'bank', holdMs: 1_000, ...options });
  const served = await serveProxy({ url, gate, by: 'ada', host: '127.0.0.1', port: 0 });
  const close = async () => {
    await served.close();
    await gate.close();
  };
  return { url: served.url, close };
}

beforeAll(async () => {
  place = openGateway();
  const handler = createMcpHandler(() => createServer(place.path('ledger')));
  upstream = createHttpServer(getRequestListener((request) => handler.fetch(request)));
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  running = await start();
});
afterAll(async () => {
  await running.close();
  upstream.closeAllConnections();
  upstream.close();
  await place.close();
});

const TASKS = 'io.modelcontextprotocol/tasks';
const CAPABILITIES = { elicitation: { form: {} }, extensions: { [TASKS]: {} } };
const INFO = { name: 'test', version: '1' };
const paid = (to: string) => linesOf(place.path('ledger')).filter((line) => line === to).length;
const approve = async () => place.ai.runs.decide((await place.pending())[0]?.id ?? '', 'approve', { by: 'bea' });

/** Sends one message, and resolves with its response. */
async function post(message: { method: string; params?: object }, token = 'ada', url = running.url): Promise<any> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
      'mcp-protocol-version': '2026-07-28',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  });
  const text = (await response.text()).split('\n').findLast((line) => /^(data: )?\{/.test(line)) ?? '';
  return { http: response.status, ...JSON.parse(text.replace(/^data: /, '')) };
}
const modern = (method: string, params: object, capabilities: object = CAPABILITIES) => ({
  method,
  params: {
    ...params,
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': INFO,
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    },
  },
});
const call = (name: string, to: string, capabilities?: object) =>
  modern('tools/call', { name, arguments: { to } }, capabilities);

async function session(token = 'ada', onInputRequest?: (request: any) => Promise<any>) {
  const client = new Client(INFO, { versionNegotiation: { mode: 'auto' }, capabilities: CAPABILITIES });
  const headers = { requestInit: { headers: { authorization: `Bearer ${token}` } } };
  await client.connect(new StreamableHTTPClientTransport(new URL(running.url), headers));
  return createTaskSessionFromClient(client, {
    endpointId: 'bank',
    rawDispatch: async (request: any) => {
      const { result, error } = await post(request, token);
      return error ? { kind: 'error', error } : { kind: 'result', result };
    },
    v2RequestFraming: { protocolVersion: '2026-07-28', clientInfo: INFO, clientCapabilities: CAPABILITIES },
    ...(onInputRequest && { onInputRequest }),
  } as never);
}

test('a held call is a task, which the client continues at the next gateway after it was approved', async () => {
  const first = await session();
  const execution = await first.callTool('pay', { to: 'ACME' });
  if (execution.kind !== 'task') throw new Error('It is no task.');
  const reference = execution.serializeReference();
  await execution.detach();
  await first.close();
  await running.close();
  await approve();
  running = await start();
  expect(paid('ACME')).toBe(0);
  const second = await session();
  const resumed = await second.resumeTask(reference);
  const { outcome } = await resumed.settle();
  expect(resultFromTaskOutcome(outcome)).toMatchObject({ content: [{ text: 'paid ACME' }] });
  expect(paid('ACME')).toBe(1);
  await second.close();
}, 30_000);

test('a question of the server reaches the client through the task, under one approval', async () => {
  const asked: string[] = [];
  const own = await session('ada', async ({ params }) => {
    asked.push(params.message);
    return { action: 'accept', content: { code: '42' } };
  });
  const execution = await own.callTool('confirm', { to: 'Bolt' });
  await approve();
  const { outcome } = await execution.settle();
  expect(resultFromTaskOutcome(outcome)).toMatchObject({ content: [{ text: 'paid Bolt with 42' }] });
  expect(asked).toEqual(['Which code?']);
  expect(linesOf(place.path('ledger')).filter((line) => line.startsWith('Bolt'))).toEqual(['Bolt with 42']);
  await own.close();
}, 30_000);

test('a cancelled task withdraws its request', async () => {
  const own = await session();
  const execution = await own.callTool('pay', { to: 'Crew' });
  await place.pending();
  await execution.cancel();
  expect((await execution.settle()).outcome).toMatchObject({ status: 'cancelled' });
  expect((await place.ai.runs.requests()).items).toEqual([]);
  expect(paid('Crew')).toBe(0);
  await own.close();
}, 30_000);

test('only the same credentials read, answer or cancel a task, and only a client that declares tasks', async () => {
  const { result } = await post(call('pay', 'Dana'));
  expect(result).toMatchObject({ resultType: 'task', status: 'working', ttlMs: 604_800_000, pollIntervalMs: 1_000 });
  const { taskId } = result;
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    const params = { taskId, ...(method === 'tasks/update' && { inputResponses: {} }) };
    expect(await post(modern(method, params), 'eve')).toMatchObject({ http: 200, error: { code: -32602 } });
    expect(await post(modern(method, params, {}))).toMatchObject({ http: 400, error: { code: -32021 } });
    expect(await post(modern(method, { ...params, taskId: `${taskId}x` }))).toMatchObject({ error: { code: -32602 } });
  }
  expect(await post(modern('tasks/result', { taskId }))).toMatchObject({ error: { code: -32601 } });
  expect(await place.pending()).toHaveLength(1);
  expect(await post(modern('tasks/get', { taskId }))).toMatchObject({
    result: { resultType: 'complete', status: 'working' },
  });
  await approve();
  const polls = await Promise.all(Array.from({ length: 4 }, () => post(modern('tasks/get', { taskId }))));
  expect(polls.map(({ result: { status } }) => status)).toEqual(Array(4).fill('completed'));
  expect(polls[0].result.result).toMatchObject({ resultType: 'complete', content: [{ text: 'paid Dana' }] });
  expect(paid('Dana')).toBe(1);
  // A client that declares nothing gets no task.
  expect(await post(call('pay', 'Dana', {}))).toMatchObject({ result: { resultType: 'input_required' } });
  for (const { id } of await place.pending()) await place.ai.runs.decide(id, 'reject');
}, 30_000);

test('the gateway says that it has tasks, and the server does not learn that the client takes them', async () => {
  const { result } = await post(modern('server/discover', {}));
  expect(result.capabilities.extensions).toEqual({ [TASKS]: {} });
  const { result: listed } = await post(modern('tools/list', {}));
  expect(JSON.stringify(listed)).not.toContain('taskSupport');
});

test('where the operator allows it, the client decides in its task, about the card that it was shown', async () => {
  const own = await start({ decideInClient: true });
  const ask = (message: { method: string; params?: object }) => post(message, 'ada', own.url);
  const { taskId } = (await ask(call('pay', 'Echo'))).result;
  const { result } = await ask(modern('tasks/get', { taskId }));
  expect(result).toMatchObject({ status: 'input_required' });
  const [[key, request] = []] = Object.entries<any>(result.inputRequests);
  expect(request).toMatchObject({ method: 'elicitation/create', params: { message: expect.stringContaining('Echo') } });
  const answer = { action: 'accept', content: { approve: true } };
  const update = (inputResponses: object) => ask(modern('tasks/update', { taskId, inputResponses }));
  expect(await update({ 'decision-of-another-card': answer })).toMatchObject({ result: { resultType: 'complete' } });
  expect(await place.pending()).toHaveLength(1);
  await update({ [key ?? '']: answer });
  await expect.poll(async () => (await ask(modern('tasks/get', { taskId }))).result.status).toBe('completed');
  expect(paid('Echo')).toBe(1);
  // Without the permission of the operator, an answer decides nothing.
  const other = (await post(call('pay', 'Fox'))).result.taskId;
  await post(modern('tasks/update', { taskId: other, inputResponses: { [key ?? '']: answer } }));
  expect(await place.pending()).toHaveLength(1);
  await post(modern('tasks/cancel', { taskId: other }));
  await own.close();
}, 30_000);

test('a client of the SDK 1.x over HTTP gets its task, too', async () => {
  const client = new LegacyClient(INFO);
  const headers = { requestInit: { headers: { authorization: 'Bearer ada' } } };
  await client.connect(new LegacyTransport(new URL(running.url), headers) as never);
  await client.listTools();
  const results: unknown[] = [];
  const toCall = { name: 'pay', arguments: { to: 'Golf' } };
  for await (const message of client.experimental.tasks.callToolStream(toCall)) {
    if (message.type === 'taskCreated') await approve();
    if (message.type === 'result') results.push(message.result);
  }
  expect(results).toMatchObject([{ content: [{ text: 'paid Golf' }] }]);
  expect(paid('Golf')).toBe(1);
  await client.close();
}, 30_000);

test('a server that does not list its tools for a client answers it itself', async () => {
  const { params } = modern('tools/call', { name: 'pay', arguments: { to: 'Hugo' } }, {});
  const unknown = { ...params, _meta: { ...params._meta, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' } };
  expect(await post({ method: 'tools/call', params: unknown }, 'nina')).toMatchObject({
    http: 400,
    error: { message: expect.any(String) },
  });
  expect((await place.ai.runs.requests()).items).toEqual([]);
});
