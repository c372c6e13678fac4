// Coding agents from npm. They are large, so they are installed on first use and kept between runs.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { environment } from '../../../create-countersign/test/packed/install.ts';
import type { AgentName } from '../../src/coding-agents/agent-names.ts';

const CACHE = join(import.meta.dirname, '../../../../node_modules/.cache/countersign-agents');

/** How to install an agent, let it trust its hooks, and run one prompt. */
export type Agent = {
  readonly name: AgentName;
  readonly title: string;
  /** Its shell, as the hook hears of it, and whether the agent says what a command does. */
  readonly tool: string;
  readonly describes: boolean;
  readonly settingsFile: string;
  /** Whether an edited input reaches the call. */
  readonly takesEdits: boolean;
  install(): string;
  trust(program: string, home: string, folder: string): Promise<void>;
  readonly args: (modelUrl: string) => readonly string[];
  readonly env: (modelUrl: string) => NodeJS.ProcessEnv;
};

export const claudeCode: Agent = {
  name: 'claude-code',
  title: 'Claude Code',
  tool: 'Bash',
  describes: true,
  settingsFile: '.claude/settings.json',
  takesEdits: true,
  install: () => installed('@anthropic-ai/claude-code@2.1.327', '@anthropic-ai/claude-code-*/claude'),
  trust: async () => {},
  args: () => ['-p', 'Go.', '--allowedTools', 'Bash'],
  env: (url) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'none',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  }),
};

export const codex: Agent = {
  name: 'codex',
  title: 'Codex',
  tool: 'Bash',
  describes: false,
  settingsFile: '.codex/hooks.json',
  takesEdits: false,
  install: () => installed('@openai/codex@0.169.0', '@openai/codex-*/vendor/*/bin/codex'),
  trust: trustHooks,
  args: (url) => [
    ...['exec', '--skip-git-repo-check', '--sandbox', 'danger-full-access'],
    ...['-c', 'model="scripted"', '-c', 'model_provider="scripted"'],
    ...[
      '-c',
      `model_providers.scripted={name="scripted",base_url="${url}/v1",wire_api="responses",request_max_retries=0}`,
    ],
    'Go.',
  ],
  env: () => ({}),
};

export const copilot: Agent = {
  name: 'copilot-cli',
  title: 'Copilot CLI',
  tool: 'Bash',
  describes: true,
  settingsFile: '.copilot/hooks/countersign.json',
  takesEdits: true,
  install: () => installed('@github/copilot@1.0.102', '@github/copilot-linux-*/copilot'),
  trust: async () => {},
  args: () => ['-p', 'Go.', '--allow-all-tools'],
  env: (url) => ({
    COPILOT_PROVIDER_BASE_URL: url,
    COPILOT_PROVIDER_TYPE: 'anthropic',
    COPILOT_PROVIDER_API_KEY: 'none',
    COPILOT_MODEL: 'claude-sonnet-4.5',
    COPILOT_OFFLINE: 'true',
    COPILOT_AUTO_UPDATE: 'false',
  }),
};

export const opencode: Agent = {
  name: 'opencode',
  title: 'OpenCode',
  tool: 'bash',
  describes: true,
  settingsFile: '.config/opencode/plugins/countersign.js',
  takesEdits: true,
  install: () => installed('opencode-ai@1.18.33', 'opencode-linux-x64/bin/opencode'),
  trust: async () => {},
  args: () => ['run', 'Go.'],
  env: (url) => ({
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      provider: {
        scripted: {
          npm: '@ai-sdk/anthropic',
          options: { baseURL: `${url}/v1`, apiKey: 'none' },
          models: { scripted: {} },
        },
      },
      model: 'scripted/scripted',
      permission: 'allow',
    }),
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  }),
};

function installed(version: string, program: string): string {
  const folder = join(CACHE, version.replaceAll(/[^\w.-]+/g, '-'));
  if (!existsSync(folder)) {
    mkdirSync(CACHE, { recursive: true });
    const fresh = mkdtempSync(`${folder}-`);
    writeFileSync(join(fresh, 'package.json'), '{ "private": true }');
    const options = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];
    execFileSync('npm', ['install', ...options, version], { cwd: fresh, env: environment(), stdio: 'pipe' });
    // A second process may have installed it meanwhile.
    if (existsSync(folder)) rmSync(fresh, { recursive: true });
    else renameSync(fresh, folder);
  }
  const [found] = globSync(`node_modules/${program}`, { cwd: folder });
  if (found === undefined) throw new Error(`${version} has no program for this machine.`);
  return join(folder, found);
}

/** What a person does in `/hooks`: Codex lists its hooks with their hashes, and is told that these are trusted. */
async function trustHooks(program: string, home: string, folder: string): Promise<void> {
  const env = { PATH: process.env.PATH, HOME: home };
  const child = spawn(program, ['app-server'], { cwd: folder, env, stdio: ['pipe', 'pipe', 'ignore'] });
  const waiting = new Map<number, (result: any) => void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, result } = JSON.parse(line);
    waiting.get(id)?.(result);
  });
  const ask = (method: string, params: object): Promise<any> =>
    new Promise((resolve) => {
      const id = waiting.size + 1;
      waiting.set(id, resolve);
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
  await ask('initialize', { clientInfo: { name: 'test', version: '1' } });
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'initialized' })}\n`);
  const { data } = await ask('hooks/list', { cwds: [folder] });
  const value = Object.fromEntries(data[0].hooks.map((hook: any) => [hook.key, { trusted_hash: hook.currentHash }]));
  await ask('config/batchWrite', { edits: [{ keyPath: 'hooks.state', value, mergeStrategy: 'upsert' }] });
  child.kill();
  await once(child, 'close');
}

/** The folder of a program, for PATH. */
export const binOf = (program: string): string => dirname(program);
