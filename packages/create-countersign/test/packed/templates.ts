// Projects created from the packed packages: each type-checks, passes its tests and starts, wherever its packages come from.
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { paysOnce } from './gated-page.ts';
import { environment, npmInstall, run, startUntil, tarballs } from './install.ts';
import { projectFolder } from './project.ts';

const APPS = ['server', 'nextjs', 'gate'];
const FRAMEWORKS = ['openai-agents', 'langgraph', 'mastra', 'genkit'];
const TEMPLATES = [...APPS, ...FRAMEWORKS];
const ROOT = resolve(import.meta.dirname, '../../../..');

type Manifest = {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly overrides?: Readonly<Record<string, string>>;
};

const manifestOf = (path: string): Manifest => JSON.parse(readFileSync(path, 'utf8'));

/** The versions that this repository tests with: they are in npm's cache, and do not change from day to day. */
const tested = manifestOf(join(ROOT, 'test-packages/package.json'));
const TESTED = { ...manifestOf(join(ROOT, 'package.json')).devDependencies, ...tested.dependencies };

/** Not named like the framework itself, which npm would mix up with it. */
const folderOf = (template: string): string => `${template}-project`;

function createIn(root: string): void {
  const program = join(projectFolder(), 'node_modules/create-countersign/dist/main.js');
  for (const template of TEMPLATES)
    run('node', [program, folderOf(template), '--template', template, '--no-install'], root);
}

/** Ours are the packed packages, all others those of this repository. */
export function linkedProjects(): string {
  mkdirSync(join(ROOT, '.tmp'), { recursive: true });
  const root = mkdtempSync(join(ROOT, '.tmp/created-'));
  const installed = (name: string) => join(projectFolder(), 'node_modules', name);
  for (const name of ['countersign', '@countersign/server'])
    cpSync(installed(name), join(root, 'node_modules', name), { recursive: true });
  // The repository may keep a package of the server beside the server.
  for (const name of Object.keys(manifestOf(join(installed('@countersign/server'), 'package.json')).dependencies))
    if (!existsSync(join(ROOT, 'node_modules', name))) symlinkSync(installed(name), join(root, 'node_modules', name));
  const react = join(root, 'node_modules/@countersign/react');
  mkdirSync(react, { recursive: true });
  const tarball = tarballs()['@countersign/react']?.replace(/^file:/, '') ?? '';
  run('tar', ['-xzf', tarball, '-C', react, '--strip-components=1'], root);
  createIn(root);
  return root;
}

/** As a user installs them, in one installation for all: the projects are its workspaces. */
export function installedProjects(): string {
  const root = mkdtempSync(join(tmpdir(), 'countersign-created-'));
  createIn(root);
  const { 'create-countersign': _, ...published } = tarballs();
  const manifests = TEMPLATES.map((template) => manifestOf(join(root, folderOf(template), 'package.json')));
  const needed = manifests.flatMap(({ dependencies, devDependencies }) =>
    Object.keys({ ...dependencies, ...devDependencies }),
  );
  const pinned = needed.flatMap((name) => (TESTED[name] === undefined ? [] : [[name, TESTED[name]]]));
  const overrides = { ...tested.overrides, ...published, ...Object.fromEntries(pinned) };
  const workspaces = TEMPLATES.map(folderOf);
  writeFileSync(join(root, 'package.json'), JSON.stringify({ private: true, workspaces, overrides }));
  npmInstall(root);
  return root;
}

/** Defines the tests of the projects that `create` makes. */
export function testProjects(create: () => string): void {
  let root: string;
  const inProject = (template: string, ...path: readonly string[]) => join(root, folderOf(template), ...path);

  beforeAll(() => {
    root = create();
  });
  afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));

  test.each(TEMPLATES)('the project %s takes the versions that are tested here', (template) => {
    const { dependencies, devDependencies } = manifestOf(inProject(template, 'package.json'));
    for (const [name, range] of Object.entries({ ...dependencies, ...devDependencies })) {
      const version = TESTED[name];
      if (version !== undefined) expect([name, range, admits(range, version)]).toEqual([name, range, true]);
    }
  });

  test.each(APPS)('the project %s type-checks and passes its tests', (template) => {
    run('npm', ['run', 'typecheck'], inProject(template));
    expect(run('npm', ['test'], inProject(template))).toMatch(/pass 2\n.*fail 0\n/);
  });

  test('the project server starts: its link signs in, and its inbox and agent are served', async () => {
    // The packages of this repository have providers of models, which a new project does not have.
    const folder = mkdtempSync(join(projectFolder(), 'created-'));
    cpSync(inProject('server'), folder, { recursive: true });
    const command = join(projectFolder(), 'node_modules/@countersign/server/bin/countersign.js');
    // The keys of a developer, who has installed no provider.
    const keys = { OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k', GOOGLE_GENERATIVE_AI_API_KEY: 'k' };
    const wanted = /npm install @ai-sdk\/openai[\s\S]*(http:\S+login\S+)/;
    const { found, stop } = await startUntil([command, 'dev', '--port', '0'], folder, wanted, keys);
    try {
      const [, link = ''] = found;
      const signedIn = await fetch(link, { redirect: 'manual' });
      const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
      const get = async (path: string) => (await fetch(new URL(path, link), { headers: { cookie } })).text();
      expect(await get('/')).toContain('<script');
      expect(JSON.parse(await get('/api/v1/agents')).items).toMatchObject([{ name: 'clerk' }]);
    } finally {
      await stop();
    }
  });

  test('the project nextjs starts: its page loads, a payment in its chat waits, and a gated route pays once', async () => {
    cpSync(join(import.meta.dirname, 'fixtures/bundle/route.mjs'), inProject('nextjs', 'app/api/gated/route.js'));
    const next = run('node', ['-p', "require.resolve('next/dist/bin/next')"], inProject('nextjs')).trim();
    const { found, stop } = await startUntil([next, 'dev', '-p', '0'], inProject('nextjs'), /http:\/\/localhost:\d+/);
    try {
      const [url] = found;
      expect(await (await fetch(url)).text()).toContain('It asks before it acts');
      const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Pay ACME 950' }] };
      const body = JSON.stringify({ id: 'chat', messages: [message] });
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${url}/api/chat`, { method: 'POST', headers, body });
      expect(await response.text()).toMatch(/"data-request".*"status":"pending"/);
      await paysOnce(`${url}/api/gated`);
    } finally {
      await stop();
    }
  });

  test('the project gate starts: a payment runs after the answer y', () => {
    const output = run('npm', ['start'], inProject('gate'), 'Pay ACME 950\nn\nPay Bob 500\ny\n');
    expect(output).toMatch(/pay \{"to":"ACME","amount":950\}\nApprove\? \[y\/N\] .*\n.*The tool was not run\./);
    expect(output).toMatch(/Approve\? \[y\/N\] .*\n.*Paid 500 to Bob/);
  });

  /** Runs beside the programs of the other templates. */
  async function output(template: string, command: string, ...args: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(command, args, { cwd: inProject(template), env: environment() });
    return stdout;
  }

  test.concurrent.each(FRAMEWORKS)('the project %s type-checks and pays once', async (template) => {
    await output(template, 'npm', 'run', 'typecheck');
    const asked = await output(template, process.execPath, 'agent.ts');
    expect(asked).toMatch(/^Waiting.*: Pay 950 to ACME/m);
    // Two of them decide themselves, and two pause until they are started again.
    if (asked.includes('Paid')) expect(asked.match(/^Paid 950 to ACME/gm)).toHaveLength(1);
    else {
      expect(asked).not.toContain('The bank pays');
      const paid = await output(template, process.execPath, 'agent.ts', 'approve');
      expect(paid.match(/^The bank pays 950 to ACME/gm)).toHaveLength(1);
    }
  });
}

/** Whether npm would install this version for a range of our templates: `^1.2.3`, `~1.2.3`, or an exact version. */
export function admits(range: string, version: string): boolean {
  const [, sign = '', ...least] = /^([\^~]?)(\d+)\.(\d+)\.(\d+)$/.exec(range) ?? [];
  const [low, found] = [least, version.split('.')].map((parts) => parts.map(Number)) as [number[], number[]];
  const fixed = sign === '' ? 3 : sign === '~' || low[0] === 0 ? 2 : 1;
  if (low.length !== 3 || low.slice(0, fixed).join('.') !== found.slice(0, fixed).join('.')) return false;
  const at = low.findIndex((part, index) => part !== found[index]);
  return at < 0 || (found[at] ?? 0) > (low[at] ?? 0);
}
