// The hook and the permission tool of coding agents, with events in the shapes of their documentation.
import { once } from 'node:events';
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { countersign, memoryStore } from 'countersign';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callTitle } from '../../src/coding-agents/call-title.ts';
import { answerHook, type HookOptions } from '../../src/coding-agents/hook.ts';
import type { McpRule } from '../../src/mcp-gate/rules.ts';
import { createWorkplace, MAIN, type Workplace } from '../cli/workplace.ts';

const SESSION = {
  session_id: 'abc123',
  transcript_path: 'transcript.jsonl',
  cwd: '/project',
  permission_mode: 'default',
};
const BASH = { tool_name: 'Bash', tool_input: { command: 'npm test', description: 'Runs the tests' } };
const pre = (id: string, more: object = {}) =>
  JSON.stringify({ ...SESSION, hook_event_name: 'PreToolUse', ...BASH, tool_use_id: id, ...more });
const post = (id: string) =>
  JSON.stringify({
    ...SESSION,
    hook_event_name: 'PostToolUse',
    ...BASH,
    tool_use_id: id,
    tool_response: { stdout: 'ok', stderr: '', interrupted: false },
  });

function openHook(more: Partial<HookOptions> = {}) {
  const ai = countersign({ store: memoryStore() });
  const options = { ai, by: 'ada', rules: {}, waitMs: 5_000, leaseMs: 60_000, defer: false, ...more };
  const request = async () => {
    await expect.poll(async () => (await ai.runs.requests()).items.length).toBeGreaterThan(0);
    const [found] = (await ai.runs.requests()).items;
    return { id: found?.id ?? '', runId: found?.runId ?? '', asked: found };
  };
  return { ai, request, hook: (event: string) => answerHook(event, options) };
}

const allow = (updatedInput: unknown) => ({
  hookSpecificOutput: {
    hookEventName: 'PreToolUse',
    permissionDecision: 'allow',
    permissionDecisionReason: 'A person approved this call.',
    updatedInput,
  },
});
const denied = (reason: unknown) => ({
  hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: reason },
});

describe('the hook', () => {
  test('an approved call is allowed once, and its end is recorded', async () => {
    const { ai, hook, request } = openHook();
    const asked = hook(pre('toolu_1'));
    const { id, runId, asked: card } = await request();
    expect(card).toMatchObject({ tool: 'Bash', agent: 'claude-code' });
    expect(card?.part.metadata).toMatchObject({ title: 'Runs the tests: npm test' });
    await ai.runs.decide(id, 'approve', { by: 'bea' });
    expect(await asked).toEqual(allow(BASH.tool_input));
    expect(await hook(pre('toolu_1'))).toEqual(denied(expect.stringContaining('Do not repeat it')));
    expect(await hook(post('toolu_1'))).toBeUndefined();
    expect(await ai.runs.get(runId)).toMatchObject({ status: 'done' });
    expect(await hook(post('toolu_of_another'))).toBeUndefined();
  });

  test('a rejected call is denied with the reason, an edited one runs with the edit', async () => {
    const { ai, hook, request } = openHook();
    const rejected = hook(pre('toolu_1'));
    await ai.runs.decide((await request()).id, { type: 'reject', reason: 'use pnpm' });
    expect(await rejected).toEqual(denied('Bash was not run: use pnpm'));
    const unexplained = hook(pre('toolu_3', { tool_input: { command: 'ls' } }));
    await ai.runs.decide((await request()).id, 'reject');
    expect(await unexplained).toEqual(denied('Bash was not run: a person rejected it.'));
    const edited = hook(pre('toolu_2'));
    await ai.runs.decide((await request()).id, { type: 'approve', edit: { command: 'pnpm test' } });
    expect(await edited).toEqual(allow({ command: 'pnpm test' }));
  });

  test('a call that was sent back is asked again as the next round, in its session only', async () => {
    const { ai, hook, request } = openHook();
    const first = hook(pre('toolu_1'));
    await ai.runs.decide((await request()).id, { type: 'revise', comment: 'Use pnpm.' }, { by: 'bea' });
    expect(await first).toEqual(denied('Bash was not run: a person asks for changes: Use pnpm.'));
    const command = { tool_input: { command: 'pnpm test' } };
    const elsewhere = hook(pre('toolu_2', { ...command, session_id: 'another' }));
    const { id, asked: own } = await request();
    expect(own?.previous).toBeNull();
    await ai.runs.decide(id, 'reject');
    await elsewhere;
    const second = hook(pre('toolu_3', command));
    const { id: next, asked: card } = await request();
    expect(card?.previous).toMatchObject({ comment: 'Use pnpm.', by: 'bea', input: BASH.tool_input, round: 1 });
    await ai.runs.decide(next, 'approve', { by: 'bea' });
    expect(await second).toEqual(allow(command.tool_input));
  });

  test('a pending call is denied or deferred, and the next try continues its question', async () => {
    const { ai, hook, request } = openHook({ waitMs: 50, defer: true });
    const waiting = (await hook(pre('toolu_1'))) as { hookSpecificOutput: object };
    expect(waiting.hookSpecificOutput).toMatchObject({ permissionDecision: 'defer' });
    await ai.runs.decide((await request()).id, 'approve');
    expect(await hook(pre('toolu_2'))).toEqual(allow(BASH.tool_input));
    expect((await ai.runs.list()).items).toHaveLength(1);
  });

  test('an allowed call without an end is in doubt after its lease, once the agent sends its next event', async () => {
    const { ai, hook, request } = openHook({ leaseMs: 100 });
    const asked = hook(pre('toolu_1'));
    const { id } = await request();
    await ai.runs.decide(id, 'approve');
    await asked;
    const kinds = async () => {
      await hook(post('toolu_2').replace('npm test', 'ls'));
      return (await ai.runs.requests()).items.map(({ kind }) => kind);
    };
    await expect.poll(kinds).toEqual(['doubt']);
  });

  test('a failed call is recorded as failed', async () => {
    const { ai, hook, request } = openHook();
    const asked = hook(pre('toolu_1'));
    const { id, runId } = await request();
    await ai.runs.decide(id, 'approve');
    await asked;
    await hook(post('toolu_1').replace('"PostToolUse"', '"PostToolUseFailure","error":"exit code 1"'));
    expect(await ai.gate({ name: 'Bash' }, { name: 'claude-code' }).read(runId)).toMatchObject({ status: 'failed' });
  });

  test('a call whose output has keys that differ in case alone is recorded as done', async () => {
    const { ai, hook, request } = openHook();
    const asked = hook(pre('toolu_1'));
    const { id, runId } = await request();
    await ai.runs.decide(id, 'approve');
    await asked;
    await hook(post('toolu_1').replace('"stdout"', '"Path":"/bin","PATH":"/usr/bin","stdout"'));
    expect(await ai.runs.get(runId)).toMatchObject({ status: 'done' });
  });

  test('a grant lets the same command run again without a question', async () => {
    const { ai, hook, request } = openHook();
    const asked = hook(pre('toolu_1'));
    const { id } = await request();
    const where = [{ field: 'command', equals: 'npm test' }];
    const grant = { where, uses: 5, expiresAt: Date.now() + 60_000 };
    await ai.runs.decide(id, 'approve', { by: 'bea', grant: grant as never });
    await asked;
    expect(await hook(pre('toolu_2'))).toEqual(allow(BASH.tool_input));
    const other = hook(pre('toolu_3', { tool_input: { command: 'npm test; rm -rf /' } }));
    await ai.runs.decide((await request()).id, 'reject');
    expect(await other).toEqual(denied(expect.any(String)));
  });

  test('Codex gets no input back, and PermissionRequest its own shape', async () => {
    const { ai, hook, request } = openHook();
    const { tool_name, tool_input } = BASH;
    const event = { ...SESSION, hook_event_name: 'PermissionRequest', turn_id: 't1', tool_name, tool_input };
    const asked = hook(JSON.stringify(event));
    await ai.runs.decide((await request()).id, 'approve');
    const decision = { behavior: 'allow' };
    expect(await asked).toEqual({ hookSpecificOutput: { hookEventName: 'PermissionRequest', decision } });
    const codex = hook(pre('call_1', { turn_id: 't1' }));
    await ai.runs.decide((await request()).id, { type: 'approve', edit: { command: 'ls' } });
    expect(await codex).toEqual(denied(expect.stringContaining('a person changed its input')));
    const edited = (id: string) => pre(id, { turn_id: 't1', tool_input: { command: 'ls' } });
    expect(await hook(edited('call_2'))).toEqual({});
    const again = hook(edited('call_3'));
    await ai.runs.decide((await request()).id, 'reject');
    expect(await again).toEqual(denied('Bash was not run: a person rejected it.'));
  });

  test.each([
    ['Write', { file_path: '/project/a.ts', content: 'x' }, 'Write: /project/a.ts'],
    ['mcp__github__create_issue', { title: 'A bug' }, 'github: create_issue'],
    ['shell', { command: ['bash', '-lc', 'make'] }, 'shell: bash -lc make'],
    [
      'apply_patch',
      { command: '*** Begin Patch\n*** Add File: a.ts\n+x\n*** Delete File: b.ts' },
      'apply_patch: Add a.ts, Delete b.ts',
    ],
    ['Bash', { command: 'echo \u202ea\nrm -rf /' }, 'Bash: echo <U+202E>a⏎rm -rf /'],
    ['Bash', { command: 'x'.repeat(200) }, `Bash: ${'x'.repeat(93)}…`],
    ['Bash', { command: 'npm test', description: 'Run the tests' }, 'Run the tests: npm test'],
    ['Bash', { command: 'rm -rf /', description: 'x'.repeat(200) }, `${'x'.repeat(59)}…: rm -rf /`],
    ['Stop', { reason: 7 }, 'Stop'],
  ])('the title of a call of %s says in one line what will happen', (tool, input, title) => {
    expect(callTitle(tool, input)).toBe(title);
  });

  test('rules leave harmless tools to the agent, and deny others, and nobody can edit a call to one of them', async () => {
    const rules = {
      rules: [
        { tool: 'Read', then: 'allow' as const },
        { tool: 'Web*', then: 'deny' as const },
        { tool: 'Bash', where: [{ field: 'command', equals: 'reboot' }], then: 'deny' as const },
      ],
    };
    const { ai, hook, request } = openHook({ rules });
    expect(await hook(pre('1', { tool_name: 'Read', tool_input: {} }))).toBeUndefined();
    expect(await hook(pre('2', { tool_name: 'WebFetch' }))).toEqual(denied('WebFetch was not run: A rule denies it.'));
    const edited = hook(pre('3'));
    const { id } = await request();
    const reboot = { type: 'approve', edit: { command: 'reboot' } } as const;
    await expect(ai.runs.decide(id, reboot)).rejects.toThrow('was not recorded. A rule denies it.');
    await ai.runs.decide(id, 'reject');
    expect(await edited).toEqual(denied(expect.stringContaining('was not run')));
  });

  test('a rule that observes leaves the call to the agent, and records it once', async () => {
    const rules = { otherwise: 'observe' as const, rules: [{ tool: 'Web*', then: 'deny' as const }] };
    const { ai, hook } = openHook({ rules });
    for (const event of [pre('1'), pre('1'), pre('1').replace('PreToolUse', 'PermissionRequest'), post('1')])
      expect(await hook(event)).toBeUndefined();
    expect(await hook(pre('2', { tool_name: 'WebFetch' }))).toEqual(
      denied(expect.stringContaining('A rule denies it')),
    );
    const observed = (await ai.runs.requests({ settled: true, outcome: 'observed' })).items;
    expect(observed).toMatchObject([{ tool: 'Bash', agent: 'claude-code', input: { command: 'npm test' } }]);
    expect((await ai.runs.verify(observed[0]?.runId ?? '')).ok).toBe(true);
    expect((await ai.runs.list()).items).toHaveLength(1);
  });

  test('an edit to an input that the rules deny by now does not run', async () => {
    const rules: { rules: McpRule[] } = { rules: [] };
    const { ai, hook, request } = openHook({ rules });
    const edited = hook(pre('1'));
    await request().then(({ id }) => {
      rules.rules.push({ where: [{ field: 'command', equals: 'reboot' }], then: 'deny' });
      return ai.runs.decide(id, { type: 'approve', edit: { command: 'reboot' } });
    });
    expect(await edited).toEqual(denied(expect.stringContaining('A rule denies it')));
  });
});

describe('the commands', { timeout: 60_000 }, () => {
  let place: Workplace;
  beforeAll(() => {
    place = createWorkplace();
  });
  afterAll(() => place.close());

  test('a hook that cannot be loaded blocks the call, because agents run a call if their hook ends with 1', async () => {
    const hook = `import { registerHooks } from 'node:module';
      const resolve = (name, context, next) => (name === 'commander' ? next('commander/none', context) : next(name, context));
      registerHooks({ resolve });`;
    const broken = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`];
    const { code, stderr } = await place.run(process.execPath, [...broken, MAIN, 'hook'], {}, pre('toolu_1'));
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^error: @countersign\/server cannot be loaded\. /)]);
  });

  test('a failure of the hook blocks the call', async () => {
    for (const input of ['', '{', '{"hook_event_name":"PreToolUse","session_id":"s"}']) {
      const { code, stdout, stderr } = await place.spawned(['hook'], {}, input);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain('The call is blocked');
    }
    // A file of the user that ends the process, or prints where the answer belongs.
    place.withAgents();
    appendFileSync(place.path('agents.ts'), "process.stdout.write('noise');\nprocess.exit(0);\n");
    const ended = await place.spawned(['hook'], {}, pre('toolu_1'));
    expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('The call is blocked') });
    rmSync(place.path('agents.ts'));
    const noStore = await place.spawned(['hook', '--store', 'nowhere'], {}, pre('toolu_1'));
    expect(noStore).toMatchObject({ code: 2, stdout: '' });
  });

  test('rules in which a key is repeated block the call', async () => {
    writeFileSync(place.path('rules.json'), '{"otherwise":"ask","otherwise":"allow"}');
    const ended = await place.spawned(['hook', '--rules', 'rules.json'], {}, pre('toolu_1'));
    expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('is repeated') });
  });

  test('a store that accepts connections and never responds blocks the call', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const store = `postgres://nobody@127.0.0.1:${port}/runs`;
    const { code, stdout, stderr } = await place.spawned(['hook', '--wait', '0', '--store', store], {}, pre('toolu_1'));
    silent.close();
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('The call is blocked');
  });

  test('the hook loads neither the server nor its web framework, telemetry, inbox, demo and MCP parts', async () => {
    const listing = `import { registerHooks } from 'node:module';
      registerHooks({ load: (url, context, next) => (process.stderr.write(url + '\\n'), next(url, context)) });`;
    const loader = `data:text/javascript,${encodeURIComponent(listing)}`;
    const args = ['--import', loader, MAIN, 'hook', '--wait', '0', '--store', 'sqlite:./speed.sqlite'];
    const { code, stderr } = await place.run(process.execPath, args, {}, pre('toolu_1'));
    expect(code).toBe(0);
    const urls = stderr.split('\n').filter((line) => line.startsWith('file:'));
    expect(urls.length).toBeGreaterThan(100);
    const heavy =
      /opentelemetry|modelcontextprotocol|node_modules\/@?hono\/|node-server|simplewebauthn|prompts|nodemailer|server\/src\/(api|demo|client|telemetry|pages|channels|cli\/backend|cli\/inbox)\/|countersign\/(dist|src)\/(ui|testing)\//;
    expect(urls.filter((url) => heavy.test(url) && !url.includes('/prompts/'))).toEqual([]);
  });

  test('the hook waits, says that the call waits, and leaves the request in the inbox', async () => {
    const { code, stdout } = await place.spawned(['hook', '--wait', '1'], {}, pre('toolu_1'));
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual(denied(expect.stringContaining('waits for a person')));
    const [request] = (await place.json('inbox', '--list')).items;
    expect(request).toMatchObject({ tool: 'Bash', agent: 'claude-code', title: 'Runs the tests: npm test' });
    await place.json('decide', request.id, '--edit', '{"command":"npm run check"}', '--by', 'bea');
    const again = await place.spawned(['hook', '--wait', '5', '--lease', '1'], {}, pre('toolu_2'));
    expect(JSON.parse(again.stdout)).toEqual(allow({ command: 'npm run check' }));
    // No server and no worker runs on this store.
    await expect.poll(async () => (await place.json('inbox', '--list')).items).toMatchObject([{ kind: 'doubt' }]);
  });

  test('the permission tool answers with the recorded input', async () => {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [MAIN, 'mcp', 'permission', '--wait', '20'],
      cwd: place.folder,
      env: { ...process.env } as Record<string, string>,
      stderr: 'ignore',
    });
    const client = new Client({ name: 'claude', version: '1' });
    await client.connect(transport);
    const input = { file_path: '/project/a.ts', content: 'x' };
    const asking = client.callTool({
      name: 'approve',
      arguments: { tool_name: 'Write', input, tool_use_id: 'toolu_9' },
    });
    let request: { id: string } | undefined;
    await expect
      .poll(
        async () => {
          [request] = (await place.json('inbox', '--list', '--tool', 'Write')).items;
          return request;
        },
        { timeout: 20_000 },
      )
      .toBeDefined();
    await place.json('decide', request?.id ?? '', '--approve', '--by', 'bea');
    const { content } = (await asking) as { content: { text: string }[] };
    expect(content).toHaveLength(1);
    expect(JSON.parse(content[0]?.text ?? '')).toEqual({ behavior: 'allow', updatedInput: input });
    await client.close();
  });
});
