// The MCP gateway over stdio, before the public servers and with real clients of both SDKs.
import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EVERYTHING, FILESYSTEM, type Gateway, openGateway } from './gateway.ts';

let place: Gateway;
beforeAll(() => {
  place = openGateway();
});
afterAll(() => place.close());

const textOf = (result: unknown): string => (result as { content: { text: string }[] }).content[0]?.text ?? '';

describe('before the filesystem server', { timeout: 60_000 }, () => {
  let client: Awaited<ReturnType<Gateway['client']>>['client'];
  beforeAll(async () => {
    const rules = place.write('rules.json', {
      rules: [
        { tool: ['read_*', 'list_*', 'get_file_info'], then: 'allow' },
        { tool: 'list_*', then: 'observe', policy: { deciders: { roles: ['admin'] } }, reason: 'Folders are private' },
        { tool: 'move_file', then: 'deny', reason: 'files stay where they are' },
        { tool: 'create_directory', where: [{ field: 'path', equals: place.path('inbox') }], then: 'allow' },
      ],
    });
    ({ client } = await place.client([FILESYSTEM, place.folder], ['--rules', rules, '--name', 'files', '--hold', '2']));
  });
  const write = (path: string, content: string, options = {}) =>
    client.callTool({ name: 'write_file', arguments: { path: place.path(path), content } }, options);

  test('the client sees the same tools, and reads without a question', async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('write_file');
    const listed = await client.callTool({ name: 'list_directory', arguments: { path: place.folder } });
    expect(textOf(listed)).toContain('rules.json');
    expect((await place.ai.runs.requests()).items).toEqual([]);
    // Only one of the rules observes, and it changed nothing.
    expect((await place.ai.runs.requests({ settled: true })).items).toMatchObject([
      {
        tool: 'mcp__files__list_directory',
        startedBy: 'ada',
        policies: [{ deciders: { roles: ['admin'] } }],
        settlement: { observed: { why: ['Folders are private'] } },
        outcome: { state: 'done' },
      },
    ]);
  });

  test('a gated call waits for its decision and runs once', async () => {
    const writing = write('a.txt', 'one');
    const [request] = await place.pending();
    expect(request).toMatchObject({ tool: 'mcp__files__write_file', startedBy: 'ada', agent: 'gate' });
    expect(existsSync(place.path('a.txt'))).toBe(false);
    await place.ai.runs.decide(request?.id ?? '', 'approve', { by: 'bea' });
    expect(await writing).toMatchObject({ structuredContent: { content: expect.any(String) } });
    expect(readFileSync(place.path('a.txt'), 'utf8')).toBe('one');
    expect(await place.ai.runs.verify(request?.runId ?? '')).toMatchObject({ ok: true });
    expect(await place.ai.runs.get(request?.runId ?? '')).toMatchObject({ status: 'done' });
  });

  test('an edited call runs with the edit, and the model is told', async () => {
    const writing = write('b.txt', 'two');
    const [request] = await place.pending();
    const edit = { path: place.path('b.txt'), content: 'edited' };
    await place.ai.runs.decide(request?.id ?? '', { type: 'approve', edit });
    expect(JSON.stringify(await writing)).toContain('A person changed the arguments');
    expect(readFileSync(place.path('b.txt'), 'utf8')).toBe('edited');
  });

  test('a rejected call is an error result, also for a tool with an output schema', async () => {
    await client.listTools();
    const writing = write('c.txt', 'three');
    const [request] = await place.pending();
    await place.ai.runs.decide(request?.id ?? '', { type: 'reject', reason: 'not now' });
    const result = await writing;
    expect(result).toMatchObject({ isError: true });
    expect(textOf(result)).toBe('write_file was not run: not now');
    expect(existsSync(place.path('c.txt'))).toBe(false);
  });

  test('a frozen call is answered as frozen, and an equal call runs it once the freeze is lifted', async () => {
    const { id } = await place.ai.freezes.freeze({ tools: ['*write_file'], reason: 'An incident.' }, { by: 'eve' });
    const writing = write('frozen.txt', 'late');
    const [request] = await place.pending();
    await place.ai.runs.decide(request?.id ?? '', 'approve', { by: 'bea' });
    expect(textOf(await writing)).toBe(
      'write_file is frozen (An incident.). It was not run, and may start once people lift the freeze. Call it again with the same arguments to continue waiting.',
    );
    const again = write('frozen.txt', 'late');
    await place.ai.freezes.lift(id, { by: 'eve' });
    expect(await again).not.toHaveProperty('isError', true);
    expect(readFileSync(place.path('frozen.txt'), 'utf8')).toBe('late');
    expect((await place.ai.runs.requests()).items).toEqual([]);
  });

  test('a call that was sent back is asked again as the next round', async () => {
    const first = write('h.txt', 'eight');
    const [request] = await place.pending();
    await place.ai.runs.decide(request?.id ?? '', { type: 'revise', comment: 'Shorter.' }, { by: 'bea' });
    expect(textOf(await first)).toContain('a person asks for changes: Shorter.');
    const second = write('h.txt', '8');
    const [next] = await place.pending();
    expect(next?.previous).toMatchObject({ requestId: request?.id, comment: 'Shorter.', round: 1 });
    await place.ai.runs.decide(next?.id ?? '', 'approve');
    await second;
    expect(readFileSync(place.path('h.txt'), 'utf8')).toBe('8');
  });

  test('a rule denies a tool, and allows one by its arguments', async () => {
    const moved = { source: place.path('a.txt'), destination: place.path('z.txt') };
    expect(textOf(await client.callTool({ name: 'move_file', arguments: moved }))).toContain(
      'files stay where they are',
    );
    await client.callTool({ name: 'create_directory', arguments: { path: place.path('inbox') } });
    expect(existsSync(place.path('inbox'))).toBe(true);
    expect((await place.ai.runs.requests()).items).toEqual([]);
  });

  test('after a waiting answer the same call continues its question, and another call asks its own', async () => {
    const first = await write('d.txt', 'four');
    expect(first).toMatchObject({ isError: true });
    expect(textOf(first)).toContain('It was not run');
    const again = write('d.txt', 'four');
    const twin = write('d.txt', 'four');
    const requests = await place.pending(2);
    expect(requests).toHaveLength(2);
    for (const { id } of requests) await place.ai.runs.decide(id, 'approve');
    expect(textOf(await again)).toContain('Successfully');
    expect(textOf(await twin)).toContain('Successfully');
    const next = write('d.txt', 'four');
    const [request] = await place.pending();
    expect(requests.map(({ id }) => id)).not.toContain(request?.id);
    await place.ai.runs.decide(request?.id ?? '', 'reject');
    await next;
  });

  test('cancelling a held call withdraws its question', async () => {
    const abort = new AbortController();
    const writing = write('e.txt', 'five', { signal: abort.signal });
    await place.pending();
    abort.abort();
    await expect(writing).rejects.toThrow();
    await expect.poll(async () => (await place.ai.runs.requests()).items, { timeout: 10_000 }).toEqual([]);
    expect(existsSync(place.path('e.txt'))).toBe(false);
  });

  test('arguments that do not fit the schema are refused without a question', async () => {
    const result = await client.callTool({ name: 'write_file', arguments: { path: 7 } });
    expect(result).toMatchObject({ isError: true });
    expect((await place.ai.runs.requests()).items).toEqual([]);
  });

  test('calls within a grant run without a question', async () => {
    const writing = write('g.txt', 'six');
    const [request] = await place.pending();
    const where = [{ field: 'path', equals: place.path('g.txt') }];
    const grant = { where, uses: 1, expiresAt: Date.now() + 60_000 };
    await place.ai.runs.decide(request?.id ?? '', 'approve', { by: 'bea', grant: grant as never });
    await writing;
    // The gateway has looked for grants before it asked, and believes that answer for a quarter of a second.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(textOf(await write('g.txt', 'seven'))).toContain('Successfully');
    expect(readFileSync(place.path('g.txt'), 'utf8')).toBe('seven');
  });
});

describe('before the everything server, with a client of the SDK 1.x', { timeout: 60_000 }, () => {
  let client: Awaited<ReturnType<Gateway['legacy']>>['client'];
  const told: string[] = [];
  beforeAll(async () => {
    const rules = place.write('everything.json', { otherwise: 'allow', rules: [{ tool: 'echo', then: 'ask' }] });
    const capabilities = { sampling: {}, elicitation: {}, roots: { listChanged: true } };
    ({ client } = await place.legacy([EVERYTHING], ['--rules', rules, '--name', 'everything'], capabilities));
    const { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } = await import(
      '@modelcontextprotocol/sdk/types.js'
    );
    client.setRequestHandler(CreateMessageRequestSchema, async () => {
      told.push('sampling');
      return { model: 'none', role: 'assistant' as const, content: { type: 'text' as const, text: 'sampled' } };
    });
    client.setRequestHandler(ElicitRequestSchema, async () => {
      told.push('elicitation');
      return { action: 'decline' as const };
    });
    client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [{ uri: 'file:///work', name: 'work' }] }));
    client.fallbackNotificationHandler = async ({ method }) => void told.push(method);
  });

  test('tools, resources, prompts and completion pass through', async () => {
    expect((await client.listTools()).tools.length).toBeGreaterThan(10);
    const { resources } = await client.listResources();
    expect(await client.readResource({ uri: resources[0]?.uri ?? '' })).toHaveProperty('contents');
    expect((await client.listResourceTemplates()).resourceTemplates.length).toBeGreaterThan(0);
    const { prompts } = await client.listPrompts();
    expect(await client.getPrompt({ name: prompts[0]?.name ?? '' })).toHaveProperty('messages');
    await expect(client.callTool({ name: 'no-such-tool' })).resolves.toMatchObject({ isError: true });
  });

  test('sampling, elicitation, roots and logging pass through', async () => {
    const { tools } = await client.listTools();
    const named = (part: string) => tools.find(({ name }) => name.includes(part))?.name ?? part;
    const sampled = await client.callTool({ name: named('sampling'), arguments: { prompt: 'hi', maxTokens: 10 } });
    expect(JSON.stringify(sampled)).toContain('sampled');
    await client.callTool({ name: named('elicitation'), arguments: {} });
    expect(JSON.stringify(await client.callTool({ name: named('roots'), arguments: {} }))).toContain('file:///work');
    await client.setLoggingLevel('debug');
    expect(told).toEqual(expect.arrayContaining(['sampling', 'elicitation']));
    expect(JSON.stringify(await client.callTool({ name: named('env'), arguments: {} }))).toContain('SECRET_OF_SERVER');
  });

  test('progress and cancellation of a running call pass through', async () => {
    const { tools } = await client.listTools();
    const name = tools.find((tool) => tool.name.includes('long-running'))?.name ?? '';
    const values: number[] = [];
    await client.callTool({ name, arguments: { duration: 1, steps: 3 } }, undefined, {
      onprogress: ({ progress }) => values.push(progress),
    });
    expect(values.length).toBeGreaterThan(1);
    const abort = new AbortController();
    const running = client.callTool({ name, arguments: { duration: 30, steps: 30 } }, undefined, {
      signal: abort.signal,
      onprogress: () => abort.abort(),
    });
    await expect(running).rejects.toThrow();
  });

  test('a held call asks, and runs once', async () => {
    const echoing = client.callTool({ name: 'echo', arguments: { message: 'hello' } });
    const [request] = await place.pending();
    await place.ai.runs.decide(request?.id ?? '', 'approve');
    expect(textOf(await echoing)).toContain('hello');
  });
});
