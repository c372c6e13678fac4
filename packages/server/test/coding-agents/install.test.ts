// `countersign agents install|status|remove`: the settings that it writes, the hooks in them, and what it takes out again.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { countersign } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { codingAgents } from '../../src/coding-agents/coding-agents.ts';
import { readEvent } from '../../src/coding-agents/hook-answers.ts';
import { inTerminal } from '../cli/pty.ts';
import { createWorkplace, MAIN, type Workplace } from '../cli/workplace.ts';
import { COMMAND } from './guide.ts';

const TIMEOUT = 180_000;

let place: Workplace;
beforeEach(() => {
  place = createWorkplace();
  program('countersign', COMMAND);
  mkdirSync(place.path('project'));
  mkdirSync(place.path('home'));
});
afterEach(() => place.close());

function write(path: string, content: string): void {
  mkdirSync(dirname(place.path(path)), { recursive: true });
  writeFileSync(place.path(path), content);
}

function program(name: string, script: string): void {
  write(`bin/${name}`, script);
  chmodSync(place.path(`bin/${name}`), 0o755);
}

const read = (path: string) => readFileSync(place.path(path), 'utf8');

const env = () => ({
  HOME: place.path('home'),
  PATH: `${place.path('bin')}:/usr/bin:/bin`,
  USER: 'ada',
  TZ: 'UTC',
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
});

/** Runs the command in the folder of the project, with a home of its own. */
function agents(...args: readonly string[]) {
  const command = [MAIN, 'agents', ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, {
    cwd: place.path('project'),
    env: env(),
    encoding: 'utf8',
  });
  return { code: status, stdout, stderr };
}

/** Runs a command of a hook as the agent does. */
function hook(command: string, event: object) {
  const shell = ['-c', command.replace('--wait 3500', '--wait 0')];
  const { status, stdout, stderr } = spawnSync('/bin/sh', shell, {
    cwd: place.path('project'),
    env: env(),
    input: JSON.stringify(event),
    encoding: 'utf8',
  });
  return { code: status, answer: stdout.trim() === '' ? undefined : JSON.parse(stdout), stderr };
}

const commandsOf = (text: string): readonly string[] =>
  [...text.matchAll(/"(?:command|bash)": (".*")|^const (?:ASK|END) = (".*");$/gm)].map(([, one, other]) =>
    JSON.parse(one ?? other ?? '""'),
  );

const openStore = () => countersign({ store: sqliteStore(place.path('home/.countersign/agents.sqlite')) });

const input = { command: 'rm -rf build', description: 'Remove the build' };
const call = { session_id: 's1', tool_name: 'Bash', tool_input: input, cwd: '/srv/shop' };

/** The settings of each agent: the file, what it has before, its events, and what its answers look like. */
const CASES: readonly {
  readonly name: string;
  readonly file: string;
  readonly before?: string;
  readonly events: readonly [string, string];
  readonly denied: (answer: any) => unknown;
  readonly allowed: object;
}[] = [
  {
    name: 'claude-code',
    file: '.claude/settings.json',
    before: '{\n\t"model": "opus",\n\t"hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [] }] }\n}',
    events: ['PreToolUse', 'PostToolUse'],
    denied: ({ hookSpecificOutput }) => hookSpecificOutput.permissionDecisionReason,
    allowed: { hookSpecificOutput: expect.objectContaining({ permissionDecision: 'allow' }) },
  },
  {
    name: 'codex',
    file: '.codex/hooks.json',
    before: '{"hooks":{}}\r\n',
    events: ['PreToolUse', 'PostToolUse'],
    denied: ({ hookSpecificOutput }) => hookSpecificOutput.permissionDecisionReason,
    allowed: {},
  },
  {
    name: 'cursor',
    file: '.cursor/hooks.json',
    before: '{ "version": 1, "hooks": { "stop": [{ "command": "./done.sh" }] } }\n',
    events: ['preToolUse', 'postToolUse'],
    denied: ({ permission, user_message }) => permission === 'deny' && user_message,
    allowed: { permission: 'allow' },
  },
  {
    name: 'gemini-cli',
    file: '.gemini/settings.json',
    before:
      '// Mine.\n{\n    "theme": "Dracula", /* dark */\n    "hooks": { "BeforeTool": [\n        {}, // other\n    ] },\n}\n',
    events: ['BeforeTool', 'AfterTool'],
    denied: ({ decision, reason }) => decision === 'deny' && reason,
    allowed: { decision: 'allow' },
  },
  {
    name: 'opencode',
    file: '.config/opencode/plugins/countersign.js',
    events: ['PreToolUse', 'PostToolUse'],
    denied: ({ hookSpecificOutput }) => hookSpecificOutput.permissionDecisionReason,
    allowed: { hookSpecificOutput: expect.objectContaining({ permissionDecision: 'allow', updatedInput: input }) },
  },
  {
    name: 'copilot-cli',
    file: '.copilot/hooks/countersign.json',
    events: ['PreToolUse', 'PostToolUse'],
    denied: ({ permissionDecision, permissionDecisionReason }) =>
      permissionDecision === 'deny' && permissionDecisionReason,
    allowed: { permissionDecision: 'allow' },
  },
];

describe('each agent', { timeout: TIMEOUT }, () => {
  test.each(CASES)('$name asks once it is installed, and its settings come back byte for byte', async (one) => {
    const { name, file, before, events, denied, allowed } = one;
    const path = `home/${file}`;
    if (before !== undefined) write(path, before);
    const installed = agents('install', '--agent', name, '--yes');
    expect(installed).toMatchObject({ code: 0, stderr: '' });
    expect(installed.stdout).toContain(`+++ ~/${file}`);
    expect(installed.stdout).toContain('asks before each call. A sample call was answered');
    const text = read(path);
    // Every character of before is there, in its order.
    expect(text.split('').reduce((rest, next) => (rest[0] === next ? rest.slice(1) : rest), before ?? '')).toBe('');

    const [ask = '', end = ''] = commandsOf(text).filter((command) => command.includes('countersign hook'));
    const waiting = hook(ask, { hook_event_name: events[0], ...call });
    expect(denied(waiting.answer)).toContain("waits for a person's decision");
    const ai = openStore();
    const [request] = (await ai.runs.requests()).items;
    expect(request).toMatchObject({ agent: name, tool: 'Bash' });
    expect(request?.part.metadata).toMatchObject({ title: 'Remove the build: rm -rf build' });
    expect(JSON.stringify(request?.part.metadata)).toContain('in the folder /srv/shop');
    await ai.runs.decide(request?.id ?? '', 'approve', { by: 'bea' });
    expect(hook(ask, { hook_event_name: events[0], ...call })).toMatchObject({ code: 0, answer: allowed });
    hook(end, { hook_event_name: events[1], ...call, tool_response: 'ok', tool_result: 'ok', tool_output: 'ok' });
    expect((await ai.runs.list()).items.map(({ status }) => status)).toEqual(['done']);
    await ai.runs.store.close();

    const status = agents('status', '--agent', name, '--json');
    expect(JSON.parse(status.stdout).agents).toMatchObject([{ agent: name, asks: true }]);
    expect(agents('install', '--agent', name, '--yes').stdout).toContain('Nothing to change.');
    expect(read(path)).toBe(text);
    expect(agents('remove', '--agent', name, '--yes').code).toBe(0);
    expect(existsSync(place.path(path)) ? read(path) : undefined).toBe(before);
    expect(existsSync(place.path(`${path}.before-countersign`))).toBe(false);
    expect(existsSync(place.path('home/.countersign/agent-rules.json'))).toBe(false);
    expect(agents('remove', '--agent', name, '--yes').stdout).toContain('Nothing to remove.');
  });

  test('the events of every agent are read as the agent sends them', () => {
    const events = codingAgents().flatMap(({ settings }) =>
      settings.kind === 'json' ? [settings.asksOn, ...settings.endsOn] : [],
    );
    for (const hook_event_name of events)
      expect(readEvent({ hook_event_name, ...call }, 'cursor').call).toMatchObject({ folder: '/srv/shop' });
  });
});

describe('files', { timeout: TIMEOUT }, () => {
  test('comments and changes that others made since stay', () => {
    const file = 'home/.gemini/settings.json';
    write(file, '{\n  // Mine.\n  "hooks": {\n    "AfterTool": [\n      {} // first\n    ]\n  }\n}\n');
    agents('install', '--yes');
    const installed = read(file);
    expect(installed).toContain('{}, // first\n      {\n');
    write(file, installed.replace('// Mine.', '// Mine.\n  "theme": "Light",'));
    expect(agents('remove', '--yes').code).toBe(0);
    expect(read(file)).toBe(
      '{\n  // Mine.\n  "theme": "Light",\n  "hooks": {\n    "AfterTool": [\n      {} // first\n    ]\n  }\n}\n',
    );
  });

  test('a file that the agent cannot read is left alone, and others are written', () => {
    write('home/.claude/settings.json', '{ "model": ');
    write('home/.codex/hooks.json', '{\n  // Codex takes no comments.\n  "hooks": {}\n}');
    write('home/.copilot/config.json', '{}');
    const { code, stdout } = agents('install', '--yes');
    expect(code).toBe(1);
    expect(stdout).toMatch(/fail {2}Claude Code .*Claude Code cannot read line 1/);
    expect(stdout).toMatch(/fail {2}Codex .*Codex cannot read line 2/);
    expect(stdout).toMatch(/ok {4}Copilot CLI .*asks before each call/);
    expect(read('home/.claude/settings.json')).toBe('{ "model": ');
    expect(read('home/.codex/hooks.json')).toContain('// Codex takes no comments.');
  });

  test('without a terminal nothing is written unless --yes is there', () => {
    write('home/.claude/settings.json', '{}');
    const asked = agents('install');
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining('Nothing was written') });
    const dry = agents('install', '--dry-run', '--json');
    expect(JSON.parse(dry.stdout)).toMatchObject({ ok: true, written: false });
    expect(dry.stdout).toContain('onFailure');
    expect(agents('install', '--dry-run')).toMatchObject({ code: 0, stdout: expect.stringContaining('onFailure') });
    expect(read('home/.claude/settings.json')).toBe('{}');
    expect(existsSync(place.path('home/.countersign'))).toBe(false);
  });

  test('a link stays a link, and the rights of the file stay', () => {
    write('dotfiles/claude.json', '{}\n');
    chmodSync(place.path('dotfiles/claude.json'), 0o640);
    mkdirSync(place.path('home/.claude'));
    symlinkSync(place.path('dotfiles/claude.json'), place.path('home/.claude/settings.json'));
    expect(agents('install', '--yes').code).toBe(0);
    expect(lstatSync(place.path('home/.claude/settings.json')).isSymbolicLink()).toBe(true);
    expect(statSync(place.path('dotfiles/claude.json')).mode & 0o777).toBe(0o640);
    expect(read('dotfiles/claude.json')).toContain('PreToolUse');
  });

  test('the settings of a project name no path of this machine, and nothing of ours is inside the project', () => {
    const { code, stdout } = agents('install', '--agent', 'claude-code,cursor', '--scope', 'project', '--yes');
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('sample call was answered') });
    for (const file of ['project/.claude/settings.json', 'project/.cursor/hooks.json']) {
      expect(read(file)).toContain('"countersign hook ');
      expect(read(file)).not.toContain(place.folder);
    }
    expect(agents('remove', '--scope', 'project', '--yes').code).toBe(0);
    expect(existsSync(place.path('project/.cursor/hooks.json'))).toBe(false);
    const inside = agents('install', '--agent', 'codex', '--store', 'sqlite:./runs.sqlite', '--yes');
    expect(inside).toMatchObject({ code: 2, stderr: expect.stringContaining('is inside this project') });
    write('project/node_modules/.bin/countersign', COMMAND);
    rmSync(place.path('bin/countersign'));
    expect(agents('install', '--agent', 'codex', '--yes').stderr).toContain('not on PATH outside of this project');
  });
});

describe('hooks that do not work', { timeout: TIMEOUT }, () => {
  test('without a terminal it is reported, and calls are blocked', () => {
    mkdirSync(place.path('home/.countersign/agents.sqlite'), { recursive: true });
    const { code, stdout } = agents('install', '--agent', 'copilot-cli', '--yes');
    expect(code).toBe(1);
    expect(stdout).toMatch(/the hook fails: .*Every call is blocked until it works/);
    const [ask = ''] = commandsOf(read('home/.copilot/hooks/countersign.json'));
    expect(hook(ask, { hook_event_name: 'PreToolUse', ...call })).toMatchObject({ code: 2, answer: undefined });
    expect(agents('status', '--agent', 'copilot-cli').code).toBe(1);
  });

  test('in a terminal the person takes the change back', async () => {
    mkdirSync(place.path('home/.countersign/agents.sqlite'), { recursive: true });
    write('home/.claude/settings.json', '{}\n');
    const command = [process.execPath, MAIN, 'agents', 'install'];
    const terminal = inTerminal(command, { cwd: place.path('project'), env: env() });
    await terminal.says(/Change these 2 files\?/);
    terminal.press('y');
    await terminal.says(/its hook fails\. Take the change\s+back\?/);
    terminal.press('y');
    expect(await terminal.ended).toBe(1);
    expect(read('home/.claude/settings.json')).toBe('{}\n');
  });
});

test('on a server, people decide there, and calls are blocked while it is away', { timeout: TIMEOUT }, async () => {
  place.withAgents();
  const { url, child } = await place.serving();
  const { token } = await place.json('tokens', 'create', 'ada', '--scopes', 'start,read');
  const args = ['--agent', 'gemini-cli', '--url', url, '--token', token];
  expect(agents('install', ...args, '--yes')).toMatchObject({ code: 0, stderr: '' });
  expect(statSync(place.path('home/.countersign/agents.token')).mode & 0o777).toBe(0o600);
  const text = read('home/.gemini/settings.json');
  expect(text).not.toContain(token);
  const [ask = '', end = ''] = commandsOf(text);
  const event = { hook_event_name: 'BeforeTool', ...call };
  expect(hook(ask, event).answer.reason).toContain("waits for a person's decision");
  const [request] = (await place.json('inbox')).items ?? [];
  expect(request).toMatchObject({ tool: 'Bash', title: 'Remove the build: rm -rf build', input });
  expect(JSON.stringify(request.payload)).toContain('in the folder /srv/shop');
  await place.json('decide', request.id, '--approve');
  expect(hook(ask, event).answer).toEqual({ decision: 'allow' });
  hook(end, { hook_event_name: 'AfterTool', ...call, tool_response: { llmContent: 'gone' } });
  expect((await place.json('show', request.runId)).status).toBe('done');
  child.kill('SIGKILL');
  expect(hook(ask, event)).toMatchObject({ code: 2, stderr: expect.stringContaining('The call is blocked') });
  expect(agents('remove', '--yes').code).toBe(0);
  expect(existsSync(place.path('home/.countersign/agents.token'))).toBe(false);
});

test('status says what is not found, and what does not ask', { timeout: TIMEOUT }, () => {
  program('claude', '#!/bin/sh\necho "2.1.327 (Claude Code)"\n');
  const { code, stdout } = agents('status');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Claude Code {2}2\.1\.327 /m);
  expect(stdout).toContain('does not ask here: its calls run');
  expect(stdout).toContain('Not found: Codex, Cursor, Gemini CLI, OpenCode, Copilot CLI.');
});
