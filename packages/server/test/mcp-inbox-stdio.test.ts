// `countersign mcp inbox` over stdio, on a server and on a store, with the real clients of both protocols.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type ElicitResult } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { sqliteStore } from 'countersign/sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { MAIN } from './cli/workplace.ts';
import { begin, startServer, type TestServer } from './server.ts';

const DECIDER = { scopes: ['read', 'decide'], reach: 'all' } as const;
const TIMEOUT = 60_000;

type Answer = () => ElicitResult;
type Asked = { readonly isError: boolean; readonly text: string };
type Connected = { readonly shown: readonly string[]; call(name: string, args?: object): Promise<Asked> };
type Connect = (args: readonly string[], token: string, answer?: Answer) => Promise<Connected>;

const command = (args: readonly string[], token: string) => ({
  command: process.execPath,
  args: [MAIN, 'mcp', 'inbox', ...args],
  env: { ...process.env, COUNTERSIGN_TOKEN: token } as Record<string, string>,
  stderr: 'ignore' as const,
});

function connected(client: Client | LegacyClient, shown: readonly string[]): Connected {
  onTestFinished(() => client.close());
  return {
    shown,
    call: async (name, args = {}) => {
      const result = (await client.callTool({ name, arguments: args as Record<string, unknown> })) as any;
      return { isError: result.isError ?? false, text: result.content[0].text };
    },
  };
}

const newer: Connect = async (args, token, answer) => {
  const shown: string[] = [];
  const capabilities = answer ? { elicitation: {} } : {};
  const versionNegotiation = { mode: { pin: '2026-07-28' } };
  const client = new Client({ name: 'newer', version: '1.0.0' }, { versionNegotiation, capabilities });
  if (answer)
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      shown.push(params.message);
      return answer();
    });
  await client.connect(new StdioClientTransport(command(args, token)));
  return connected(client, shown);
};

const older: Connect = async (args, token, answer) => {
  const shown: string[] = [];
  const client = new LegacyClient(
    { name: 'older', version: '1.0.0' },
    { capabilities: answer ? { elicitation: {} } : {} },
  );
  if (answer)
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      shown.push(params.message);
      return answer() as never;
    });
  await client.connect(new LegacyTransport(command(args, token)));
  return connected(client, shown);
};

const accept: Answer = () => ({ action: 'accept', content: { confirm: true } });

/** A server with a payment of Ann's that waits. */
async function waiting(options: Parameters<typeof startServer>[0] = {}) {
  const server = await startServer(options);
  const { id: runId } = await begin(await server.as('ann'), server.ai, 'pay bob 500');
  const { items } = await server.ai.runs.requests({ runId });
  return { server, runId: runId as string, id: items[0]?.id as string };
}

const isOpen = async ({ ai }: TestServer, id: string) => (await ai.runs.request(id)).settledAt === null;

describe.each<[string, Connect]>([
  ['2026-07-28', newer],
  ['2025', older],
])('a client of the protocol %s', { timeout: TIMEOUT }, (_version, connect) => {
  test('lists, reads and decides once, after its user confirmed the card', async () => {
    const { server, id, runId } = await waiting();
    const { call, shown } = await connect(['--url', server.url], await server.tokenFor('dora', DECIDER), accept);
    const link = `${server.url}/requests/${encodeURIComponent(id)}`;
    const listed = JSON.parse((await call('list_requests')).text);
    expect(listed.items).toMatchObject([{ id, title: 'Pay 500 to bob', mayDecide: true, link }]);
    expect(JSON.parse((await call('read_request', { id })).text)).toMatchObject({ input: { to: 'bob', amount: 500 } });
    expect((await call('read_request', { id: 'none:1' })).text).toContain('not found');
    const wanted = { id, decision: 'approve', note: 'fine' };
    expect(await call('decide_request', wanted)).toMatchObject({ isError: false });
    expect(shown).toEqual([expect.stringMatching(/^Approve this request\?[\s\S]*Pay 500 to bob[\s\S]*Note: fine/)]);
    expect(await call('decide_request', wanted)).toMatchObject({
      isError: true,
      text: expect.stringContaining('already decided'),
    });
    await server.ai.runs.wait(runId);
    expect(server.paid).toEqual([{ to: 'bob', amount: 500 }]);
    const { settlement } = await server.ai.runs.request(id);
    expect(settlement).toMatchObject({ by: 'dora', channel: 'mcp', note: 'fine' });
  });

  test('records nothing if its user declines, cancels or does not confirm', async () => {
    const { server, id } = await waiting();
    const answers: ElicitResult[] = [
      { action: 'decline' },
      { action: 'cancel' },
      { action: 'accept', content: { confirm: false } },
    ];
    const next: Answer = () => answers.shift() ?? accept();
    const { call, shown } = await connect(['--url', server.url], await server.tokenFor('dora', DECIDER), next);
    for (let asked = 1; asked <= 3; asked += 1) {
      expect(await call('decide_request', { id, decision: 'approve' })).toMatchObject({
        isError: true,
        text: expect.stringContaining('did not confirm'),
      });
      expect(shown).toHaveLength(asked);
    }
    expect(await isOpen(server, id)).toBe(true);
  });

  test('gets a link if it cannot ask its user', async () => {
    const { server, id } = await waiting();
    const { call } = await connect(['--url', server.url], await server.tokenFor('dora', DECIDER));
    const { isError, text } = await call('decide_request', { id, decision: 'approve' });
    expect({ isError, text }).toEqual({ isError: true, text: expect.stringContaining(`${server.url}/requests/`) });
    expect(await isOpen(server, id)).toBe(true);
  });

  test('cannot decide with a token that may start runs', async () => {
    const { server, id } = await waiting();
    const { call } = await connect(['--url', server.url], await server.tokenFor('dora', { reach: 'all' }), accept);
    expect(await call('decide_request', { id, decision: 'approve' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('may start runs'),
    });
    expect(await isOpen(server, id)).toBe(true);
  });
});

test('on the channel mcp, every route of the server refuses such tokens, and all tokens if MCP is off', async () => {
  const mcp = { 'x-countersign-channel': 'mcp' };
  const { server, id } = await waiting();
  const off = await waiting({ mcp: false });
  const body = { decision: { type: 'approve' } };
  for (const [at, person, rights] of [
    [{ server, id }, 'dora', { reach: 'all' }],
    [{ server, id }, 'ann', DECIDER],
    [off, 'dora', DECIDER],
  ] as const) {
    const ask = await at.server.as(person, rights);
    const { digest } = (await ask('GET', `/api/v1/requests/${at.id}`)).body;
    expect(await ask('POST', `/api/v1/requests/${at.id}/decide`, body, mcp)).toMatchObject({
      status: 403,
      body: { code: 'not-allowed' },
    });
    const items = [{ requestId: at.id, digest, ...body }];
    const many = await ask('POST', '/api/v1/decisions', { items }, mcp);
    expect(many.body.items).toMatchObject([{ status: 'not-allowed' }]);
    expect(await isOpen(at.server, at.id)).toBe(true);
  }
});

test('on a store, another person than the one who started the run decides', { timeout: TIMEOUT }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-mcp-inbox-'));
  const file = join(folder, 'runs.sqlite');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }));
  const { server, id } = await waiting({ store: sqliteStore(file) });
  const as = (person: string, answer?: Answer) => older(['--store', `sqlite:${file}`, '--by', person], '', answer);
  const ann = await as('ann', accept);
  expect(await ann.call('decide_request', { id, decision: 'approve' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('ann started this run'),
  });
  expect(await isOpen(server, id)).toBe(true);
  const dora = await as('dora', accept);
  expect(await dora.call('decide_request', { id, decision: 'approve' })).toMatchObject({ isError: false });
  expect((await server.ai.runs.request(id)).settlement).toMatchObject({ by: 'dora', channel: 'mcp' });
});

test('the entry of the MCP registry starts it', { timeout: TIMEOUT }, async () => {
  const read = (name: string) => JSON.parse(readFileSync(join(import.meta.dirname, '..', name), 'utf8'));
  const { name, description, version, packages } = read('server.json');
  const manifest = read('package.json');
  const [{ identifier, version: published, packageArguments, environmentVariables }] = packages;
  expect({ name, version, published, identifier }).toEqual({
    ...{ name: manifest.mcpName, version: manifest.version, published: manifest.version, identifier: manifest.name },
  });
  // The registry takes no longer one.
  expect(description.length).toBeLessThanOrEqual(100);
  const { server, id } = await waiting();
  const given: Record<string, string> = {
    COUNTERSIGN_URL: server.url,
    COUNTERSIGN_TOKEN: await server.tokenFor('dora', DECIDER),
  };
  const named = environmentVariables.map((one: { name: string }) => [one.name, given[one.name] ?? '']);
  const client = new Client({ name: 'registry', version: '1.0.0' });
  const args = [MAIN, ...packageArguments.map(({ value }: { value: string }) => value)];
  const env = { PATH: process.env.PATH ?? '', ...Object.fromEntries(named) };
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }));
  const { text } = await connected(client, []).call('list_requests');
  expect(JSON.parse(text).items).toMatchObject([{ id }]);
});
