// The command `countersign`: the engine and the server both have it, so it behaves the same whichever of them npm links, and npx
// runs it in a folder without either.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { environment, npmInstall, run, tarballs } from './install.ts';

const ours = tarballs();
const ENGINE = 'countersign';
const SERVER = '@countersign/server';

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'countersign-command-'));
});
afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));

const folders = new Map<string, string>();

/** A project in which these packages were installed, one after the other. Made once for all tests. */
function project(...installed: readonly (keyof typeof ours)[]): string {
  const name = installed.join('-then-').replaceAll(/[@/]+/g, '');
  const made = folders.get(name);
  if (made !== undefined) return made;
  const folder = join(root, name);
  mkdirSync(folder);
  const dependencies: Record<string, string> = {};
  for (const next of installed) {
    dependencies[next] = ours[next] ?? '';
    const overrides = { countersign: ours[ENGINE] };
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies, overrides }));
    npmInstall(folder);
  }
  folders.set(name, folder);
  return folder;
}

const programIn = (folder: string, name: string) => join(folder, 'node_modules', name, 'bin/countersign.js');

function ended(command: string, args: readonly string[], cwd: string, env: object = {}) {
  const options = { cwd, env: { ...environment(), ...env }, encoding: 'utf8', timeout: 300_000 } as const;
  const { status, stdout, stderr } = spawnSync(command, args, options);
  return { status, stdout, stderr };
}

test.each([
  ['the engine, then the server', [ENGINE, SERVER]],
  ['the server, then the engine', [SERVER, ENGINE]],
])('a project that installed %s runs the command of the server', (_, order) => {
  const folder = project(...order);
  const version = JSON.parse(readFileSync(join(folder, 'node_modules', SERVER, 'package.json'), 'utf8')).version;
  expect(run('npx', ['--no-install', 'countersign', '--version'], folder)).toBe(`${version}\n`);
  expect(run('npx', ['--no-install', 'countersign', 'init'], folder)).toContain('Created agents.ts');
  rmSync(join(folder, 'agents.ts'));
});

// They are the same files in any order of installation, which decides only which of them npm links.
test.each([
  [['--help'], 0],
  [['runs', '--json'], 3],
  [['show', 'unknown'], 3],
  [['nonsense'], 2],
  [['hook', '--store', 'nonsense:'], 2],
])('the programs of the engine and of the server do the same for %j', (args, status) => {
  const folder = project(ENGINE, SERVER);
  const [engine, server] = [ENGINE, SERVER].map((name) =>
    ended(process.execPath, [programIn(folder, name), ...args], folder),
  );
  expect(engine).toEqual(server);
  expect(engine?.status).toBe(status);
});

test('a project with the engine alone is told what to install, and starts nothing', () => {
  const folder = project(ENGINE);
  for (const args of [['dev'], ['hook'], []]) {
    const { status, stdout, stderr } = ended('npx', ['--no-install', 'countersign', ...args], folder);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^error: .* Run: npm install @countersign\/server$/m);
  }
});

describe('npx in an empty folder', () => {
  let env: NodeJS.ProcessEnv;
  let registry: ReturnType<typeof createServer>;

  // What npm has cached, and a place of its own for what npx installs.
  beforeAll(async () => {
    const cached = run('npm', ['config', 'get', 'cache'], root).trim();
    const cache = join(root, 'cache');
    mkdirSync(cache);
    mkdirSync(join(cached, '_cacache'), { recursive: true });
    symlinkSync(join(cached, '_cacache'), join(cache, '_cacache'));
    registry = serverRegistry();
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
    const at = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`;
    env = { ...withRegistry(at), npm_config_cache: cache, npm_config_prefer_offline: 'true' };
  });
  afterAll(() => registry.close());

  const npx = (...args: readonly string[]) => ['--yes', `--package=${ours[ENGINE]}`, '--', 'countersign', ...args];
  const inEmptyFolder = () => mkdtempSync(join(root, 'empty-'));

  test('dev serves the demo until Ctrl-C, and writes nothing but its runs', async () => {
    const folder = inEmptyFolder();
    // A group of its own, so that it gets Ctrl-C as from a terminal.
    const options = { cwd: folder, env: { ...environment(), ...env }, stdio: 'pipe', detached: true } as const;
    const child = spawn('npx', npx('dev', '--port', '0'), options);
    const closed = new Promise((resolve) => child.on('close', resolve));
    onTestFinished(async () => {
      if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), 'SIGKILL');
      await closed;
    });
    const output = await printed(child, /(http:\S+)\/login\S+/);
    expect(output).toContain('npm exec --yes --package=@countersign/server@');
    expect(output).toContain('This is the demo agent.');
    const [, url = ''] = /(http:\S+)\/login/.exec(output) ?? [];
    const [, docs = ''] = /Docs +(.+\.md)/.exec(output) ?? [];
    expect(readFileSync(docs, 'utf8')).toContain('# @countersign/server');
    expect((await fetch(`${url}/api/v1/health`)).status).toBeLessThan(500);
    process.kill(-(child.pid ?? 0), 'SIGINT');
    await closed;
    await expect(fetch(url)).rejects.toThrow();
    expect(readdirSync(folder)).toEqual(['.countersign']);
  });

  test('other commands end with the exit code of the server', () => {
    const folder = inEmptyFolder();
    expect(ended('npx', npx('show', 'unknown'), folder, env).status).toBe(3);
    const help = ended('npx', npx('runs', '--help', '--json'), folder, env);
    expect(help.status).toBe(0);
    expect(JSON.parse(help.stdout).name).toBe('runs');
  });

  test('a hook that npm cannot run blocks the call', () => {
    const folder = inEmptyFolder();
    const nowhere = { ...withRegistry('http://127.0.0.1:9/'), npm_config_fetch_retries: '0' };
    const fresh = { ...nowhere, npm_config_cache: mkdtempSync(join(root, 'cache-')) };
    const program = programIn(project(ENGINE), ENGINE);
    expect(ended(process.execPath, [program, 'hook'], folder, fresh).status).toBe(2);
  });
});

/** The settings of the user, with another registry for the scope @countersign. */
function withRegistry(url: string): NodeJS.ProcessEnv {
  const own = run('npm', ['config', 'get', 'userconfig'], root).trim();
  const file = join(mkdtempSync(join(root, 'settings-')), '.npmrc');
  writeFileSync(file, `${existsSync(own) ? readFileSync(own, 'utf8') : ''}\n@countersign:registry=${url}\n`);
  return { npm_config_userconfig: file } as unknown as NodeJS.ProcessEnv;
}

/** The registry of the scope @countersign: it has the packed server, which depends on the packed engine. */
function serverRegistry() {
  const tarball = readFileSync(fileOf(SERVER));
  const manifest = JSON.parse(run('tar', ['-xzOf', fileOf(SERVER), 'package/package.json'], root));
  const { version, dependencies } = manifest;
  return createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '');
    if (path === '/server.tgz') return void response.end(tarball);
    if (path !== `/${SERVER}`) return void response.writeHead(404).end();
    const dist = {
      tarball: `http://${request.headers.host}/server.tgz`,
      integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
    };
    const published = { ...manifest, dependencies: { ...dependencies, countersign: ours[ENGINE] }, dist };
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({ name: SERVER, 'dist-tags': { latest: version }, versions: { [version]: published } }),
    );
  });
}

const fileOf = (name: keyof typeof ours): string => realpathSync((ours[name] ?? '').replace(/^file:/, ''));

/** What a program has printed as soon as it matches. */
function printed(child: ChildProcess, wanted: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (wanted.test(output)) resolve(output);
      });
    child.on('close', () => reject(new Error(`${wanted} was not printed:\n${output}`)));
  });
}
