// The command line, on the sources: options, questions and refusals. Created projects are installed and run in test/packed.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';

const PACKAGE = resolve(import.meta.dirname, '..');
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'create-countersign-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

type Finished = { readonly code: number; readonly stdout: string; readonly stderr: string };

function create(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Finished> {
  return new Promise((done) => {
    const options = { cwd: folder, env: { ...process.env, npm_config_user_agent: '', ...env } };
    const child = execFile(
      process.execPath,
      [join(PACKAGE, 'src/main.ts'), ...args],
      options,
      (error, stdout, stderr) => done({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    );
    child.stdin?.end();
  });
}

const manifestOf = (path: string) => JSON.parse(readFileSync(join(folder, path, 'package.json'), 'utf8'));

test.each([
  ['server', 'agents.ts', 'npm run dev'],
  ['nextjs', 'app/api/chat/[[...path]]/route.ts', 'npm run dev'],
  ['gate', 'route.ts', 'npm start'],
  ['openai-agents', 'agent.ts', 'npm start'],
  ['langgraph', 'agent.ts', 'npm start'],
  ['mastra', 'agent.ts', 'npm start'],
  ['genkit', 'agent.ts', 'npm start'],
])('writes the template %s and says what comes next', async (template, file, start) => {
  const { code, stdout, stderr } = await create(['My App', '--template', template, '--no-install']);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  expect(stdout).toContain(`Next:\n  cd "My App"\n  npm install\n  ${start}\n`);
  const files = readdirSync(join(folder, 'My App'), { recursive: true });
  for (const wanted of [file, '.gitignore', 'README.md', 'tsconfig.json']) expect(files).toContain(wanted);
  expect(files).not.toContain('_gitignore');
  expect(manifestOf('My App').name).toBe('my-app');
  const readme = readFileSync(join(folder, 'My App/README.md'), 'utf8');
  for (const [, named = ''] of readme.matchAll(/^\| `([^`.][^`]*\.tsx?)`/gm)) expect(files).toContain(named);
});

test('a template needs the versions that are published with it', () => {
  for (const template of readdirSync(join(PACKAGE, 'templates'))) {
    const { dependencies } = JSON.parse(readFileSync(join(PACKAGE, 'templates', template, 'package.json'), 'utf8'));
    for (const [name, range] of Object.entries(dependencies)) {
      if (!name.includes('countersign')) continue;
      const manifest = join(PACKAGE, '..', name.replace('@countersign/', ''), 'package.json');
      expect([template, name, range]).toEqual([
        template,
        name,
        `^${JSON.parse(readFileSync(manifest, 'utf8')).version}`,
      ]);
    }
  }
});

test('--yes asks nothing and uses the package manager that runs it', async () => {
  const env = { npm_config_user_agent: 'pnpm/10.1.0 npm/? node/v24.0.0' };
  const { code, stdout } = await create(['--yes', '--no-install'], env);
  expect(code).toBe(0);
  expect(stdout).toContain('  cd countersign-app\n  pnpm install\n  pnpm run dev\n');
  expect(existsSync(join(folder, 'countersign-app/agents.ts'))).toBe(true);
});

test('a folder that is not empty is refused, and nothing in it changes', async () => {
  mkdirSync(join(folder, 'app'));
  writeFileSync(join(folder, 'app/package.json'), '{}');
  const { code, stderr } = await create(['app', '--yes', '--no-install']);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^error: The folder app is not empty: it contains package\.json\. Nothing was written\./);
  expect(stderr).toContain('npx countersign init');
  expect(readdirSync(join(folder, 'app'))).toEqual(['package.json']);
  expect(readFileSync(join(folder, 'app/package.json'), 'utf8')).toBe('{}');
});

test('the current folder and a folder with only .git are fine', async () => {
  mkdirSync(join(folder, '.git'));
  const { code, stdout } = await create(['.', '--template', 'gate', '--no-install']);
  expect(code).toBe(0);
  expect(stdout).toContain('Next:\n  npm install\n  npm start\n');
  expect(existsSync(join(folder, 'route.ts'))).toBe(true);
});

test.each([
  [
    ['app', '--template', 'vue'],
    2,
    'Unknown template vue. Templates: server, nextjs, gate, openai-agents, langgraph, mastra, genkit.',
  ],
  [['app', '--yes', '--package-manager', 'apt'], 2, 'Unknown package manager apt. Known: npm, pnpm, yarn, bun.'],
  [['app', '--colour'], 2, "Unknown option '--colour'. See --help."],
  [['one', 'two', '--yes'], 2, 'Expected one folder, got 2: one two'],
  [['app'], 2, 'Without a terminal, name the folder and --template, or pass --yes. See --help.'],
  [['a-file', '--yes'], 1, 'a-file is a file. Choose another folder.'],
])('%j fails with a message', async (args, exitCode, message) => {
  writeFileSync(join(folder, 'a-file'), '');
  const { code, stderr } = await create(args);
  expect(stderr).toBe(`error: ${message}\n`);
  expect(code).toBe(exitCode);
  expect(readdirSync(folder)).toEqual(['a-file']);
});

test('a failed installation says where the project is', async () => {
  const { code, stderr } = await create(['app', '--yes', '--package-manager', 'bun'], { PATH: '' });
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^error: bun could not be started \(ENOENT\)\. The project is in .*app; run "bun install" there\./,
  );
});

test('--help and --version', async () => {
  expect((await create(['--help'])).stdout).toMatch(/--template <name> {5}server {9}an agent/);
  expect((await create(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});
