// The skill for coding agents, as npm installs it: a scripted agent follows it in an empty project, with its commands and its files as
// they are written there. Afterwards a gated payment waits for a person, and is made once.
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { countersign, z } from 'countersign';
import { type RecordedRequest, type ScriptStep, scriptedModel } from 'countersign/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { environment, npmInstall, run, startUntil, tarballs } from './install.ts';
import { NEWEST, projectFolder } from './project.ts';

/** Where people put the skill for their coding agent. */
const SKILL = '.claude/skills/countersign';
const STORE = ['--store', 'sqlite:./approvals.sqlite'];

let folder: string;
let said: string;
const inFolder = (...path: readonly string[]): string => join(folder, ...path);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-skill-'));
  cpSync(join(projectFolder(), 'node_modules/countersign/skills/countersign'), inFolder(SKILL), { recursive: true });
  said = await followSkill();
});

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));

test('the skill has the front matter that agents read, and at most 900 words', () => {
  const text = readFileSync(inFolder(SKILL, 'SKILL.md'), 'utf8');
  expect(text).toMatch(/^---\nname: countersign\ndescription: \S.{100,1000}\n---\n\n# /);
  expect(text.split(/\s+/).length).toBeLessThanOrEqual(900);
});

test('an agent that follows it adds the gate to an empty project, and its own test passes', () => {
  expect(said).toBe('Done.');
  for (const file of ['package.json', 'gate.mjs', 'chat.mjs', 'gate.test.mjs'])
    expect(existsSync(inFolder(file))).toBe(true);
  // The test decided on a store of its own.
  expect(existsSync(inFolder('approvals.sqlite'))).toBe(false);
  expect(existsSync(inFolder('payments.log'))).toBe(false);
});

test('the gated function waits for a person, and pays once', async () => {
  const first = pay(950);
  const [request] = await waiting();
  expect(request).toMatchObject({ tool: 'pay', title: 'Pay €950 to ACME for invoice 7', risk: 'high' });
  expect(existsSync(inFolder('payments.log'))).toBe(false);
  run('npx', ['countersign', 'decide', request?.id ?? '', '--approve', '--by', 'ann', ...STORE], folder);
  const paid = { status: 'done', output: { paid: 950 } };
  expect(await first).toMatchObject(paid);
  expect(await Promise.all([pay(950), pay(950)])).toMatchObject([paid, paid]);
  await expect(pay(9_500)).rejects.toThrow(/gate-conflict/);
  expect(readFileSync(inFolder('payments.log'), 'utf8')).toMatch(/^call_\S+ 950 ACME\n$/);
});

test('its route for the AI SDK holds the call until a person whom it names approves it', () => {
  npmInstall(folder, `ai@${NEWEST.ai}`);
  cpSync(join(import.meta.dirname, '../../templates/gate/chat.ts'), inFolder('client.mts'));
  cpSync(join(import.meta.dirname, 'fixtures/skill/route.mjs'), inFolder('route.mjs'));
  expect(JSON.parse(run('node', ['route.mjs'], folder))).toEqual({
    before: [],
    requests: [{ tool: 'pay', input: { to: 'ACME', amount: 950 } }],
    refused: 'not-allowed',
    after: [{ to: 'ACME', amount: 950 }],
  });
});

test('its configuration of an MCP server holds every call of it', async () => {
  const { command, args } = JSON.parse(blocksOf('json')[0] ?? '') as { command: string; args: readonly string[] };
  cpSync(join(import.meta.dirname, 'fixtures/skill/server.mjs'), inFolder('server.mjs'));
  cpSync(join(import.meta.dirname, 'fixtures/skill/client.mjs'), inFolder('client.mjs'));
  const { stop } = await startUntil(['client.mjs', command, ...args], folder, /^calls erase$/m);
  try {
    expect(await waiting()).toMatchObject([{ tool: 'mcp__files__erase', input: { path: '/data' } }]);
    expect(existsSync(inFolder('erased.log'))).toBe(false);
  } finally {
    await stop();
  }
});

/** Runs the agent until it has followed the skill, or a command has failed. Returns its last words. */
async function followSkill(): Promise<string> {
  const ai = countersign({ model: scriptedModel(nextStep), maxTurns: 30 });
  const path = z.object({ path: z.string() });
  const tools = [
    ai.defineTool({ name: 'readFile', description: 'Reads a file.', inputSchema: path }, ({ path }) =>
      readFileSync(inFolder(path), 'utf8'),
    ),
    ai.defineTool(
      { name: 'writeFile', description: 'Writes a file.', inputSchema: path.extend({ text: z.string() }) },
      ({ path, text }) => {
        mkdirSync(dirname(inFolder(path)), { recursive: true });
        writeFileSync(inFolder(path), text);
        return 'Written.';
      },
    ),
    ai.defineTool(
      { name: 'runCommand', description: 'Runs a command.', inputSchema: z.object({ command: z.string() }) },
      ({ command }) => commandOutput(command),
    ),
  ];
  const response = await ai.generate({ prompt: `Follow ${SKILL}/SKILL.md in this empty project.`, tools });
  return response.text;
}

/** The model reads the skill, then takes its blocks one by one. It stops at the first command that fails. */
function nextStep({ messages }: RecordedRequest, index: number): ScriptStep {
  if (index === 0) return { calls: [{ name: 'readFile', input: { path: `${SKILL}/SKILL.md` } }] };
  const [part] = messages.at(-1)?.content ?? [];
  const result = part && 'toolResponse' in part ? String(part.toolResponse.output) : '';
  if (result.startsWith('FAILED')) return result;
  const call = blocksOf('sh|js').map(callFor)[index - 1];
  return call ? { calls: [call] } : 'Done.';
}

/** A block of commands is run; the first line of other code names its file. */
function callFor(block: string): { readonly name: string; readonly input: object } {
  const path = /^\/\/ (\S+)\n/.exec(block)?.[1];
  if (path === undefined) return { name: 'runCommand', input: { command: block } };
  return { name: 'writeFile', input: { path, text: block } };
}

function blocksOf(language: string): readonly string[] {
  const text = readFileSync(inFolder(SKILL, 'SKILL.md'), 'utf8');
  return [...text.matchAll(new RegExp(`^\`\`\`(?:${language})\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    (match) => match[1] ?? '',
  );
}

/** This version is not on the registry: its names stand for its tarballs. */
async function commandOutput(command: string): Promise<string> {
  const packed = tarballs();
  const words = command.trimEnd().split(' ');
  const line = command.startsWith('npm install ') ? words.map((word) => packed[word] ?? word).join(' ') : command;
  const npm = { npm_config_prefer_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' };
  const env = { ...environment(), ...npm };
  try {
    const { stdout } = await promisify(execFile)('sh', ['-c', line], { cwd: folder, env });
    return stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    return `FAILED: ${command}\n${stdout ?? ''}${stderr ?? error}`;
  }
}

/** The program of the project calls the function that the skill gave it, in a process of its own. */
async function pay(amount: number): Promise<unknown> {
  const input = JSON.stringify({ invoice: '7', to: 'ACME', amount });
  const program = `const { payInvoice } = await import('./gate.mjs'); console.log(JSON.stringify(await payInvoice(${input})));`;
  const options = { cwd: folder, env: environment() };
  const { stdout } = await promisify(execFile)('node', ['--input-type=module', '-e', program], options);
  return JSON.parse(stdout);
}

type Request = { readonly id: string; readonly tool: string };

/** The requests in the store of the project, as soon as there are any. */
async function waiting(): Promise<readonly Request[]> {
  let found: readonly Request[] = [];
  await expect
    .poll(
      () => {
        if (!existsSync(inFolder('approvals.sqlite'))) return 0;
        found = JSON.parse(run('npx', ['countersign', 'inbox', '--list', '--json', ...STORE], folder)).items;
        return found.length;
      },
      { timeout: 60_000, interval: 500 },
    )
    .toBeGreaterThan(0);
  return found;
}
