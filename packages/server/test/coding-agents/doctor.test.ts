// `countersign doctor --agents`: finds settings with which a call could run without a question.
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createWorkplace, type Workplace } from '../cli/workplace.ts';
import { COMMAND, jsonOf } from './guide.ts';

const CLAUDE = '.claude/settings.json';
const CODEX = '.codex/hooks.json';

let place: Workplace;
beforeEach(() => {
  place = createWorkplace();
  write('bin/countersign', COMMAND);
  chmodSync(place.path('bin/countersign'), 0o755);
  write('home/.countersign/agent-rules.json', jsonOf('Rules and grants'));
});
afterEach(() => place.close());

function write(path: string, content: string): void {
  mkdirSync(dirname(place.path(path)), { recursive: true });
  writeFileSync(place.path(path), content);
}

/** No coding agent is on this PATH. */
async function doctor() {
  const env = {
    HOME: place.path('home'),
    PATH: `${place.path('bin')}:/usr/bin:/bin`,
    CLAUDE_CONFIG_DIR: '',
    CODEX_HOME: '',
  };
  const { code, stdout, stderr } = await place.spawned(['doctor', '--agents', '--json'], env);
  expect(stderr).toBe('');
  const { checks } = JSON.parse(stdout) as { checks: readonly { status: string; text: string; fix?: string }[] };
  return { code, failures: checks.filter(({ status }) => status === 'fail').map(({ text }) => text), checks };
}

test('the settings of the guide pass, and what Codex trusts is unknown without Codex', async () => {
  write(`home/${CLAUDE}`, jsonOf('Claude Code'));
  write(`home/${CODEX}`, jsonOf('Codex'));
  const { code, checks } = await doctor();
  expect(checks).toEqual([
    {
      name: 'Claude Code',
      status: 'ok',
      text: expect.stringContaining('asks, reaches its store, and blocks if it fails'),
    },
    { name: 'Codex', status: 'ok', text: expect.stringContaining('asks, reaches its store, and blocks if it fails') },
    { name: 'Codex', status: 'unknown', text: expect.stringContaining('unknown whether it trusts') },
  ]);
  expect(code).toBe(0);
});

test('without a hook of ours, calls run', async () => {
  expect(await doctor()).toMatchObject({ code: 1, failures: ['no coding agent asks here: its calls run'] });
});

const beside = (settings: string) =>
  settings.replace(/,\s*"onFailure": "block"/, '').replace('"matcher": "*",', '"matcher": "*", "onFailure": "block",');

test.each<[string, string, (settings: string) => string, string]>([
  ['onFailure beside the matcher', CLAUDE, beside, 'if the command is missing, crashes or hangs'],
  [
    'a timeout below --wait',
    CLAUDE,
    (text) => text.replace('3600', '60'),
    'its timeout of 60 s ends before its --wait',
  ],
  ['hooks that are turned off', CLAUDE, (text) => text.replace('{', '{ "disableAllHooks": true,'), 'turns it off'],
  ['a file that does not parse', CLAUDE, (text) => text.replace('{', ''), 'nothing in it is in effect'],
  [
    'a command without a fallback',
    CODEX,
    (text) => text.replace(/ \|\| \{.*?\}/, ''),
    'missing or crashes, the call runs',
  ],
  [
    'a command without a limit',
    CODEX,
    (text) => text.replace('timeout 3550 ', ''),
    'if the command hangs, the call runs',
  ],
])('%s in %s is found', async (_what, file, change, says) => {
  write(`home/${file}`, change(jsonOf(file === CLAUDE ? 'Claude Code' : 'Codex')));
  const { code, failures } = await doctor();
  expect(code).toBe(1);
  expect(failures.join()).toContain(says);
});

test('a missing command and a mistake in the rules are found', async () => {
  write(CLAUDE, jsonOf('Claude Code'));
  write('home/.countersign/agent-rules.json', '{ "rules": [{ "then": "perhaps" }] }');
  expect((await doctor()).failures.join()).toContain('Invalid rules');
  rmSync(place.path('bin/countersign'));
  expect((await doctor()).failures.join()).toContain('not found');
});

test('a command that does more than to call the hook is not run', async () => {
  const command = `touch ${join(place.folder, 'ran')}; countersign hook`;
  write(
    CLAUDE,
    JSON.stringify({ hooks: { PreToolUse: [{ hooks: [{ type: 'command', command, onFailure: 'block' }] }] } }),
  );
  expect((await doctor()).failures.join()).toContain('did not run it');
  expect(existsSync(place.path('ran'))).toBe(false);
});
