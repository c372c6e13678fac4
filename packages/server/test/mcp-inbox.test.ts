// The inbox as an MCP server, with the real clients of both protocols.
import { Client, type ElicitResult, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Json } from 'countersign';
import { expect, onTestFinished, test } from 'vitest';
import { begin, startServer, type TestServer } from './server.ts';

const DECIDER = { scopes: ['read', 'decide'], reach: 'all' } as const;

/** A newer client that shows each question to a person who answers like this. */
async function connect(server: TestServer, token: string, answer?: () => ElicitResult) {
  const shown: string[] = [];
  const options = {
    versionNegotiation: { mode: { pin: '2026-07-28' } },
    capabilities: answer ? { elicitation: {} } : {},
  };
  const client = new Client({ name: 'tests', version: '1.0.0' }, options);
  if (answer)
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      shown.push(params.message);
      return answer();
    });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), withToken(token)));
  onTestFinished(() => client.close());
  return { client, shown, call: (name: string, args: object = {}) => call(client, name, args) };
}

const withToken = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } });

async function call(
  client: Client | LegacyClient,
  name: string,
  args: object,
): Promise<{ isError: boolean; text: string }> {
  const { isError = false, content } = (await client.callTool({
    name,
    arguments: args as Record<string, unknown>,
  })) as any;
  return { isError, text: content[0].text };
}

const accept = (): ElicitResult => ({ action: 'accept', content: { confirm: true } });

/** A server with a payment of Ann's that waits. */
async function waiting(options: Parameters<typeof startServer>[0] = {}, prompt = 'pay bob 500') {
  const server = await startServer(options);
  const run = await begin(await server.as('ann'), server.ai, prompt);
  const { items } = await server.ai.runs.requests({ runId: run.id });
  return { server, runId: run.id as string, id: items[0]?.id as string };
}

const outcome = async ({ ai }: TestServer, id: string) => (await ai.runs.request(id)).settlement as any;

test('a decider lists, reads and approves a request, after the card was confirmed', async () => {
  const { server, id, runId } = await waiting();
  const { call, shown } = await connect(server, await server.tokenFor('dora', DECIDER), accept);
  const listed = JSON.parse((await call('list_requests')).text);
  expect(listed.items).toMatchObject([{ id, title: 'Pay 500 to bob', tool: 'pay', mayDecide: true }]);
  expect(listed.items[0].link).toBe(`${server.url}/requests/${encodeURIComponent(id)}`);
  expect(JSON.parse((await call('read_request', { id })).text)).toMatchObject({
    id,
    input: { to: 'bob', amount: 500 },
  });
  expect(await call('decide_request', { id, decision: 'approve', note: 'fine' })).toMatchObject({ isError: false });
  await server.ai.runs.wait(runId);
  expect(server.paid).toEqual([{ to: 'bob', amount: 500 }]);
  expect(shown).toHaveLength(1);
  expect(shown[0]).toMatch(
    /^Approve this request\?[\s\S]*Pay 500 to bob[\s\S]*pay[\s\S]*bob[\s\S]*500[\s\S]*Note: fine/,
  );
  expect(await outcome(server, id)).toMatchObject({ by: 'dora', channel: 'mcp', note: 'fine' });
});

test('an edit, a rejection and an answer are shown and recorded', async () => {
  const token = (server: TestServer) => server.tokenFor('dora', DECIDER);
  const edited = await waiting();
  const editor = await connect(edited.server, await token(edited.server), accept);
  await editor.call('decide_request', { id: edited.id, decision: 'edit', input: { to: 'bob', amount: 450 } });
  await edited.server.ai.runs.wait(edited.runId);
  expect(edited.server.paid).toEqual([{ to: 'bob', amount: 450 }]);
  expect(editor.shown[0]).toMatch(/runs with this input instead:[\s\S]*450/);

  const rejected = await waiting();
  const rejecter = await connect(rejected.server, await token(rejected.server), accept);
  await rejecter.call('decide_request', { id: rejected.id, decision: 'reject', reason: 'too much' });
  expect(await outcome(rejected.server, rejected.id)).toMatchObject({
    decision: { type: 'reject', reason: 'too much' },
  });

  const asked = await waiting({}, 'ask which?');
  const answerer = await connect(asked.server, await token(asked.server), accept);
  const invalid = await answerer.call('decide_request', { id: asked.id, decision: 'answer', answer: '' });
  expect(invalid.isError).toBe(true);
  await answerer.call('decide_request', { id: asked.id, decision: 'answer', answer: 'the red one' });
  expect(await outcome(asked.server, asked.id)).toMatchObject({ decision: { type: 'respond', output: 'the red one' } });
});

test('a decider freezes calls, others may not, and the frozen request says so', async () => {
  const { server, id, runId } = await waiting();
  const asked = { tools: ['pay'], reason: 'The mailbox was hacked.' };
  const own = await connect(server, await server.tokenFor('ann', { scopes: ['read', 'decide'] }), accept);
  expect(await own.call('freeze_calls', asked)).toMatchObject({ isError: true });
  expect(await server.ai.freezes.list()).toEqual([]);
  const { call } = await connect(server, await server.tokenFor('dora', DECIDER), accept);
  const made = JSON.parse((await call('freeze_calls', asked)).text);
  expect(made).toMatchObject({ ...asked, by: 'dora', running: [] });
  await call('decide_request', { id, decision: 'approve' });
  expect([(await server.ai.runs.wait(runId)).status, server.paid]).toEqual(['waiting', []]);
  expect((await server.ai.runs.request(id)).outcome).toMatchObject({ state: 'frozen', by: 'dora' });
  await server.ai.freezes.lift(made.id, { by: 'dora' });
  await server.ai.runs.wait(runId, { until: 'end' });
  expect(server.paid).toHaveLength(1);
});

test.each<[string, () => ElicitResult]>([
  ['declines', () => ({ action: 'decline' })],
  ['cancels', () => ({ action: 'cancel' })],
  ['does not confirm', () => ({ action: 'accept', content: { confirm: false } })],
])('nothing is recorded if the person %s', async (_name, answer) => {
  const { server, id } = await waiting();
  const { call } = await connect(server, await server.tokenFor('dora', DECIDER), answer);
  expect(await call('decide_request', { id, decision: 'approve' })).toMatchObject({ isError: true });
  expect((await server.ai.runs.request(id)).settledAt).toBeNull();
});

test('a client that cannot ask its user gets a link, and nothing is recorded', async () => {
  const { server, id } = await waiting();
  const token = await server.tokenFor('dora', DECIDER);
  const { call: newer } = await connect(server, token);
  const older = new LegacyClient({ name: 'older', version: '1.0.0' }, { capabilities: { elicitation: {} } });
  await older.connect(new LegacyTransport(new URL(`${server.url}/mcp`), withToken(token)) as never);
  onTestFinished(() => older.close());
  const wanted = { id, decision: 'approve' };
  for (const answer of [await newer('decide_request', wanted), await call(older, 'decide_request', wanted)]) {
    expect(answer.isError).toBe(true);
    expect(answer.text).toContain(`${server.url}/requests/`);
  }
  expect(JSON.parse((await call(older, 'list_requests', {})).text).items).toHaveLength(1);
  expect((await server.ai.runs.request(id)).settledAt).toBeNull();
});

test('a token that may start runs cannot decide, nor can the person who started the run', async () => {
  const { server, id, runId } = await waiting();
  for (const [person, rights] of [
    ['dora', { reach: 'all' }],
    ['ann', DECIDER],
  ] as const) {
    const { call, shown } = await connect(server, await server.tokenFor(person, rights), accept);
    expect(await call('decide_request', { id, decision: 'approve' })).toMatchObject({ isError: true });
    expect(shown).toEqual([]);
  }
  expect((await server.ai.runs.request(id)).settledAt).toBeNull();
  const open = await waiting({ mcp: { allowOwnRequests: true } });
  const { call } = await connect(open.server, await open.server.tokenFor('ann'), accept);
  expect(await call('decide_request', { id: open.id, decision: 'approve' })).toMatchObject({ isError: false });
  expect(runId).not.toBe(open.runId);
});

test('a confirmation counts for this person, request and decision only', async () => {
  const { server, id } = await waiting();
  const { client } = await connect(server, await server.tokenFor('dora', DECIDER), accept);
  const send = (args: object, more: object = {}) =>
    client.callTool(
      { name: 'decide_request', arguments: args as any, ...more },
      { allowInputRequired: true },
    ) as Promise<any>;
  const { requestState, inputRequests } = await send({ id, decision: 'reject', note: 'Too much.' });
  expect(Object.keys(inputRequests)).toEqual(['confirm']);
  const inputResponses = { confirm: accept() as unknown as Json };
  for (const changed of [
    { decision: 'approve', note: 'Too much.' },
    { decision: 'reject', note: 'Fine.' },
    { decision: 'reject' },
  ])
    expect(await send({ id, ...changed }, { requestState, inputResponses })).toMatchObject({ isError: true });
  await expect(
    send({ id, decision: 'reject' }, { requestState: `${requestState}x`, inputResponses }),
  ).rejects.toThrow();
  // Without a state, an answer is one that nobody asked for.
  expect(await send({ id, decision: 'reject' }, { inputResponses })).toMatchObject({ resultType: 'input_required' });
  const other = await connect(server, await server.tokenFor('eve', DECIDER), accept);
  const stolen = { name: 'decide_request', arguments: { id, decision: 'reject' }, requestState, inputResponses };
  await expect(other.client.callTool(stolen as never)).rejects.toThrow();
  expect((await server.ai.runs.request(id)).settledAt).toBeNull();
  const confirmed = await send({ id, decision: 'reject', note: 'Too much.' }, { requestState, inputResponses });
  expect(confirmed).not.toHaveProperty('isError', true);
  expect(await outcome(server, id)).toMatchObject({ by: 'dora', note: 'Too much.' });
});

test('a request that is too large to be shown whole gets a link', async () => {
  const { server, id } = await waiting({}, `pay ${'b'.repeat(9_000)} 500`);
  const { call, shown } = await connect(server, await server.tokenFor('dora', DECIDER), accept);
  const answer = await call('decide_request', { id, decision: 'approve' });
  expect(answer.text).toContain('/requests/');
  expect(shown).toEqual([]);
});

test('only callers with a token that may read get in, and the route can be left out', async () => {
  const { server } = await waiting();
  const post = (url: string, headers: Record<string, string> = {}) =>
    fetch(`${url}/mcp`, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: '{}' });
  expect((await post(server.url)).status).toBe(401);
  const starter = await server.tokenFor('ann', { scopes: ['start'] });
  expect((await post(server.url, { authorization: `Bearer ${starter}` })).status).toBe(403);
  const without = await startServer({ mcp: false });
  const token = await without.tokenFor('dora', DECIDER);
  expect((await post(without.url, { authorization: `Bearer ${token}` })).status).toBe(405);
});
