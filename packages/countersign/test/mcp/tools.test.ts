// Tools of MCP servers, gated and run by the engine. Servers of both protocols, in memory and as processes.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { UsageError, z } from 'countersign';
import { mcpTools } from 'countersign/mcp';
import { afterEach, describe, expect, test } from 'vitest';
import {
  type AnyServer,
  agentWith,
  decide,
  legacyClient,
  newLegacyServer,
  newServer,
  pending,
  processClient,
  results,
} from './kit.ts';

const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

async function connected(server: AnyServer): Promise<Client> {
  const client = await legacyClient(server);
  clients.push(client);
  return client;
}

const register = (server: AnyServer, name: string, config: object, run: (input: any, extra: any) => unknown): void =>
  void (server.registerTool as (...args: unknown[]) => unknown).call(server, name, config, run);

describe.each([
  ['2.4', newServer],
  ['1.32.2', newLegacyServer],
])('a server of %s', (_version, make) => {
  test('keeps its schemas and names, and a valid name is made of others', async () => {
    const server = make();
    const inputSchema = z.object({ to: z.string() });
    register(server, 'mail.send', { description: 'Sends.', inputSchema }, () => ({ content: [] }));
    const tools = await mcpTools(await connected(server), { prefix: 'm_' });
    expect(tools.map(({ name }) => name)).toEqual(['m_mail_send']);
    const { spec } = (tools[0] as (typeof tools)[number]).definition;
    expect(spec()).toMatchObject({ description: 'Sends.', inputSchema: { properties: { to: { type: 'string' } } } });
  });

  test('is called once, after the approval, with the approved input', async () => {
    const heard: unknown[] = [];
    const server = make();
    register(server, 'pay', { inputSchema: z.object({ amount: z.number() }) }, (input) => {
      heard.push(input);
      return { content: [{ type: 'text', text: 'paid' }] };
    });
    const tools = await mcpTools(await connected(server));
    const { ai, start } = agentWith(tools, { name: 'pay', input: { amount: 5 } });
    const runId = await start();
    expect(heard).toEqual([]);
    await decide(ai, runId, { type: 'approve', edit: { amount: 4 } });
    expect(heard).toEqual([{ amount: 4 }]);
    expect(await results(ai, runId)).toEqual(['paid']);
  });
});

test('falsy outputs, structured outputs, media and empty content survive', async () => {
  const server = newServer();
  const outputSchema = z.object({ left: z.number(), note: z.string(), ok: z.boolean() });
  register(server, 'zero', { outputSchema }, () => ({
    content: [],
    structuredContent: { left: 0, note: '', ok: false },
  }));
  register(server, 'empty', {}, () => ({ content: [{ type: 'text', text: '' }] }));
  register(server, 'nothing', {}, () => ({ content: [] }));
  register(server, 'picture', {}, () => ({
    content: [
      { type: 'text', text: 'Here:' },
      { type: 'image', mimeType: 'image/png', data: 'AAAA' },
      { type: 'resource_link', uri: 'file:///a', name: 'a' },
    ],
  }));
  const tools = await mcpTools(await connected(server), { needsApproval: false });
  const output = async (name: string) => {
    const { ai, start } = agentWith(tools, { name });
    return (await results(ai, await start()))[0];
  };
  expect(await output('zero')).toEqual({ left: 0, note: '', ok: false });
  expect(await output('empty')).toBe('');
  expect(await output('nothing')).toBe(null);
  expect(await output('picture')).toEqual([
    { text: 'Here:' },
    { media: { url: 'data:image/png;base64,AAAA', contentType: 'image/png' } },
    { link: 'file:///a', name: 'a' },
  ]);
});

test('an error of the server is a failure that may have acted', async () => {
  const server = newLegacyServer();
  register(server, 'pay', {}, () => ({ isError: true, content: [{ type: 'text', text: 'no funds' }] }));
  const { ai, start } = agentWith(await mcpTools(await connected(server)), { name: 'pay' });
  const runId = await start();
  await decide(ai, runId, 'approve');
  expect((await results(ai, runId))[0]).toMatch(/no funds.*may have taken effect/s);
});

describe('annotations are claims', () => {
  const gatesOf = async (options: Parameters<typeof mcpTools>[1]) => {
    const server = newServer();
    register(server, 'read', { annotations: { readOnlyHint: true } }, () => ({ content: [] }));
    register(server, 'wipe', { annotations: { destructiveHint: true } }, () => ({ content: [] }));
    register(server, 'plain', {}, () => ({ content: [] }));
    const tools = await mcpTools(await connected(server), options);
    return Object.fromEntries(tools.map(({ name, definition }) => [name, definition.needsApproval]));
  };

  test('every tool asks unless the developer says otherwise', async () => {
    expect(await gatesOf({})).toEqual({ read: true, wipe: true, plain: true });
    expect(await gatesOf({ annotations: 'trust' })).toEqual({ read: false, wipe: true, plain: true });
    expect(await gatesOf({ needsApproval: false })).toEqual({ read: false, wipe: true, plain: false });
    expect(await gatesOf({ needsApproval: false, annotations: 'ignore' })).toEqual({
      read: false,
      wipe: false,
      plain: false,
    });
    expect(await gatesOf({ tools: { wipe: { needsApproval: false } } })).toEqual({
      read: true,
      wipe: false,
      plain: true,
    });
    expect(await gatesOf({ tools: ({ name }) => (name === 'plain' ? false : {}) })).toEqual({ read: true, wipe: true });
  });

  test('options for a tool that the server does not have are refused', async () => {
    await expect(gatesOf({ tools: { wipee: { needsApproval: true } } })).rejects.toThrow(UsageError);
  });
});

describe('a server that does not answer', () => {
  test('leaves the outcome unknown, and is not called again', async () => {
    let starts = 0;
    const server = newLegacyServer();
    register(server, 'pay', {}, () => {
      starts += 1;
      return new Promise(() => undefined);
    });
    const tools = await mcpTools(await connected(server), { timeoutMs: 50 });
    const { ai, start } = agentWith(tools, { name: 'pay' });
    const runId = await start();
    await decide(ai, runId, 'approve');
    expect((await pending(ai, runId)).kind).toBe('doubt');
    await decide(ai, runId, { type: 'respond', output: 'it was paid' });
    expect(await results(ai, runId)).toEqual(['it was paid']);
    expect(starts).toBe(1);
  });

  test('is waited for as long as it reports progress', async () => {
    const server = newServer();
    register(server, 'slow', {}, async (extra) => {
      for (let progress = 1; progress <= 6; progress++) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        const { progressToken } = extra.mcpReq._meta;
        await extra.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress } });
      }
      return { content: [{ type: 'text', text: 'done' }] };
    });
    const tools = await mcpTools(await connected(server), { timeoutMs: 400, needsApproval: false });
    const { ai, start } = agentWith(tools, { name: 'slow' });
    expect(await results(ai, await start())).toEqual(['done']);
  });

  test('that is gone before the call did nothing', async () => {
    const server = newServer();
    register(server, 'pay', {}, () => ({ content: [] }));
    const client = await connected(server);
    const tools = await mcpTools(client);
    await client.close();
    const { ai, start } = agentWith(tools, { name: 'pay' });
    const runId = await start();
    await decide(ai, runId, 'approve');
    expect((await results(ai, runId))[0]).toMatch(/did nothing/);
  });
});

test('a changed list is told', async () => {
  const server = newServer();
  register(server, 'one', {}, () => ({ content: [] }));
  const changed = Promise.withResolvers<readonly string[]>();
  await mcpTools(await connected(server), { onChange: (tools) => changed.resolve(tools.map(({ name }) => name)) });
  register(server, 'two', {}, () => ({ content: [] }));
  expect(await changed.promise).toEqual(['one', 'two']);
});

test('write_file of the filesystem server writes once after the approval', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-files-'));
  try {
    const script = join(
      import.meta.dirname,
      '../../../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js',
    );
    const client = await processClient(script, [folder]);
    clients.push(client);
    const path = join(folder, 'a.txt');
    const { ai, start } = agentWith(await mcpTools(client), { name: 'write_file', input: { path, content: 'hi' } });
    const runId = await start();
    expect(existsSync(path)).toBe(false);
    await decide(ai, runId, 'approve');
    expect(readFileSync(path, 'utf8')).toBe('hi');
    expect((await results(ai, runId))[0]).toMatchObject({ content: expect.stringContaining('Successfully wrote') });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the schemas of a server are judged as the server judges them, in limited steps', async () => {
  const server = newServer();
  const heard: unknown[] = [];
  register(server, 'open', { inputSchema: z.object({ url: z.string(), waitMs: z.number().default(5) }) }, (input) => {
    heard.push(input);
    return { content: [{ type: 'text', text: 'opened' }] };
  });
  const client = await connected(server);
  const { tools: listed } = await client.listTools();
  const properties = {
    url: { type: 'string', pattern: '^(a+)+$' },
    waitMs: { type: 'number', default: 5 },
    tags: { items: { $ref: '#/$defs/tag' }, uniqueItems: true },
    many: { items: { anyOf: Array.from({ length: 1_500 }, (_, index) => ({ const: index })) } },
  };
  // Servers such as Playwright's list fields with a default as required.
  const inputSchema = { type: 'object', properties, required: ['url', 'waitMs'] };
  const list = async () => ({ tools: listed.map((tool) => ({ ...tool, inputSchema })) });
  const [open] = await mcpTools(
    new Proxy(client, { get: (own, key) => (key === 'listTools' ? list : bound(own, key)) }) as never,
  );
  if (!open) throw new Error('The server has no tool.');
  expect(open.definition.spec().inputSchema).toEqual(inputSchema);
  const tags = Array.from({ length: 5_000 }, (_, index) => ({ index }));
  const input = { url: `${'a'.repeat(40)}!`, tags };
  const { ai, start } = agentWith([open], { name: 'open', input });
  const runId = await start();
  expect((await pending(ai, runId)).input).toEqual(input);
  await decide(ai, runId, 'approve');
  expect(heard).toEqual([{ url: input.url, waitMs: 5 }]);

  const slow = agentWith([open], {
    name: 'open',
    input: { url: 'a', many: Array.from({ length: 5_000 }, () => 1_499) },
  });
  expect(await results(slow.ai, await slow.start())).toEqual([expect.stringContaining('steps to check')]);
});

const bound = (own: Client, key: string | symbol): unknown => {
  const value = Reflect.get(own, key, own);
  return typeof value === 'function' ? value.bind(own) : value;
};
