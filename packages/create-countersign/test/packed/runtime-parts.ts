// What every supported runtime must do with the packed packages: each part is a real program on that runtime.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '@countersign/server/client';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { countersign } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { expect } from 'vitest';
import { environment } from './install.ts';
import { folderInProject, projectFolder } from './project.ts';
import type { Runtime } from './runtimes.ts';

/** A folder for one runtime, and the ways to start programs there. */
export function placeOf(runtime: Runtime) {
  const folder = folderInProject(runtime.name.toLowerCase().replace(' ', '-'), 'runtime');
  const bin = join(projectFolder(), 'node_modules/@countersign/server/bin/countersign.js');
  // A developer's keys, without the packages of the providers.
  const env = { ...environment(), OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k', GOOGLE_GENERATIVE_AI_API_KEY: 'k' };
  const options = { cwd: folder, env, encoding: 'utf8' } as const;
  const run = (args: readonly string[], input = ''): string =>
    execFileSync(runtime.command, [...runtime.args, ...args], { ...options, input });
  return {
    folder,
    runtime,
    env,
    bin,
    program: (...args: readonly string[]) => JSON.parse(run(args)),
    countersign: (args: readonly string[], input?: string): string => run([bin, ...args], input),
    /** Runs a program that fails. */
    failure: (...args: readonly string[]) => {
      const { status, stderr } = spawnSync(runtime.command, [...runtime.args, ...args], options);
      return { status, stderr };
    },
    /** Starts the command, and resolves with what it prints as soon as that matches. */
    async begin(args: readonly string[], wanted: RegExp) {
      const child = spawn(runtime.command, [...runtime.args, bin, ...args], { ...options, stdio: 'pipe' });
      let output = '';
      const found = await new Promise<RegExpExecArray>((resolve, reject) => {
        for (const stream of [child.stdout, child.stderr])
          stream.on('data', (text: Buffer) => {
            output += text;
            const match = wanted.exec(output);
            if (match) resolve(match);
          });
        child.on('error', reject).on('exit', () => reject(new Error(`${wanted} was not printed:\n${output}`)));
      });
      return {
        found,
        stop: async () => {
          const ended = once(child, 'exit');
          child.kill('SIGTERM');
          expect(await ended).toEqual([0, null]);
        },
      };
    },
    read: (name: string) => (existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : ''),
  };
}

export type Place = ReturnType<typeof placeOf>;

export function runsTheEngine(place: Place): void {
  expect(place.program('engine.mjs')).toEqual({ asked: 2, paid: [950], text: 'Done.' });
}

export function keepsRunsInSqlite(place: Place): void {
  expect(place.program('contract.mjs')).toEqual({ passed: true, failed: [] });
  expect(place.program('durable.mjs', 'start')).toEqual({ status: 'waiting' });
  expect(place.program('durable.mjs', 'resume')).toEqual({ status: 'done', verified: true });
  expect(place.read('ledger')).toBe('ACME 950\n');
}

/** Exit code 2 makes a coding agent block the call whose hook failed. */
export function refusesTheCommand({ bin, failure, runtime }: Place): void {
  const said = `error: countersign needs Node 22.18 or later; this is ${runtime.name}. Install Node 24`;
  expect(failure(bin, 'hook')).toEqual({ status: 2, stderr: expect.stringMatching(`^${said} .*\n$`) });
}

export function refusesSqlite({ failure, runtime }: Place): void {
  const { status, stderr } = failure('durable.mjs', 'start');
  expect(status).toBe(1);
  expect(stderr).toContain(
    `countersign/sqlite needs Node 22.13, Bun 1.4 or Deno 2.9, or later; this is ${runtime.name}.`,
  );
}

/** The agents file is TypeScript. */
export async function serves(place: Place): Promise<void> {
  const typed = place.read('agents.mjs').replace('({ store })', '({ store }: { readonly store: any })');
  writeFileSync(join(place.folder, 'agents.mts'), typed);
  const store = ['--store', 'sqlite:serve.sqlite'];
  const { found, stop } = await place.begin(['serve', 'agents.mts', '--port', '0', ...store], / at (http:\S+)\. Press/);
  try {
    const created = place.countersign(['tokens', 'create', 'ann', '--all', '--json', ...store]);
    const client = createClient(found[1] ?? '', { token: JSON.parse(created).token });
    const { id } = await client.runs.start({ agent: 'clerk', prompt: 'Pay Birch 500' });
    await expect.poll(async () => (await client.runs.get(id)).pending.length, POLL).toBe(1);
    const [request = ''] = (await client.runs.get(id)).pending;
    const { digest } = await client.requests.get(request);
    const approval = { decision: { type: 'approve' as const }, digest };
    await client.requests.decide(request, approval);
    await client.requests.decide(request, approval);
    await expect.poll(async () => (await client.runs.get(id)).status, POLL).toBe('done');
    expect(place.read('ledger').match(/Birch 500/g)).toHaveLength(1);
  } finally {
    await stop();
  }
}

/** A coding agent's hook: pending, then allowed; another call is rejected. */
export async function answersHooks(place: Place): Promise<void> {
  const ask = (id: string) => {
    const event = { ...EVENT, tool_use_id: id, tool_input: { command: `echo ${id}` } };
    const answer = place.countersign(['hook', '--wait', '1', '--store', 'sqlite:hook.sqlite'], JSON.stringify(event));
    return JSON.parse(answer).hookSpecificOutput.permissionDecision;
  };
  expect(ask('one')).toBe('deny');
  await decideIn(place, 'hook.sqlite', 'approve');
  expect(ask('one')).toBe('allow');
  expect(ask('two')).toBe('deny');
  await decideIn(place, 'hook.sqlite', { type: 'reject', reason: 'not now' });
  expect(ask('two')).toBe('deny');
}

/** Decides the one pending request in the file, once it is there. */
async function decideIn(
  place: Place,
  file: string,
  decision: 'approve' | { type: 'reject'; reason: string },
): Promise<void> {
  const store = sqliteStore(join(place.folder, file));
  try {
    const { runs } = countersign({ store });
    await expect.poll(async () => (await runs.requests()).items.length, POLL).toBe(1);
    const [request] = (await runs.requests()).items;
    await runs.decide(request?.id ?? '', decision, { by: 'bob' });
  } finally {
    await store.close();
  }
}

/** The gateway and the server behind it run on the same runtime. */
export async function gatesMcp(place: Place): Promise<void> {
  const { runtime, folder, env, bin } = place;
  const behind = [runtime.command, ...runtime.args, 'bank.mjs'];
  const transport = new StdioClientTransport({
    command: runtime.command,
    args: [...runtime.args, bin, 'mcp', 'gate', '--store', 'sqlite:mcp.sqlite', '--hold', '300', '--', ...behind],
    cwd: folder,
    env: env as Record<string, string>,
    stderr: 'ignore',
  });
  const client = new Client({ name: 'test', version: '1.0.0' });
  try {
    await client.connect(transport);
    const calling = client.callTool({ name: 'pay', arguments: { amount: 950 } }, { timeout: 300_000 });
    await decideIn(place, 'mcp.sqlite', 'approve');
    expect(await calling).toMatchObject({ content: [{ type: 'text', text: 'paid' }] });
    expect(place.read('mcp-ledger')).toBe('950\n');
  } finally {
    await client.close();
  }
}

const POLL = { timeout: 120_000, interval: 200 };

const EVENT = {
  session_id: 'session',
  transcript_path: 'transcript.jsonl',
  cwd: '.',
  permission_mode: 'default',
  hook_event_name: 'PreToolUse',
  tool_name: 'Bash',
};
