// The image of `examples/deploy`, without a container: the steps of its Dockerfile in clean folders, with the packed packages. Its
// programs run as kubernetes.yaml says: as a user without rights, on a file system that nothing can write to.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { freePort } from '../../../../scripts/free-port.mjs';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { type PostgresServer, startPostgres } from '../../../../scripts/postgres.mjs';
import { environment, npmInstall, tarballs } from './install.ts';

const DEPLOY = join(import.meta.dirname, '../../../../examples/deploy');
/** As in compose.yaml and kubernetes.yaml. */
const CLI = ['node_modules/.bin/countersign'];
const WORKER = [...CLI, 'worker', 'agents.ts', '--json', '--health-port'];

let root: string;
let image: Image;
let postgres: PostgresServer;
const children: ChildProcess[] = [];

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'countersign-image-'));
  postgres = await startPostgres();
  const context = join(root, 'context');
  const ignored = readFileSync(join(DEPLOY, '.dockerignore'), 'utf8').split('\n');
  cpSync(DEPLOY, context, { recursive: true, filter: (path) => !ignored.includes(basename(path)) });
  lock(context);
  image = build(readFileSync(join(DEPLOY, 'Dockerfile'), 'utf8'), context);
  // Readable by others, with a Node that they can start.
  cpSync(process.execPath, join(root, 'bin/node'));
  chmodSync(root, 0o755);
});

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await postgres?.stop();
  rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});

test('the image serves and works: probes answer, a worker continues a run, and both drain on SIGTERM', async () => {
  const server = await start(image.command);
  const worker = await start([...WORKER, 'PORT']);
  for (const { url } of [server, worker]) {
    await expect.poll(() => statusOf(`${url}/readyz`), { timeout: 60_000 }).toBe(200);
    expect(await statusOf(`${url}/healthz`)).toBe(200);
  }
  expect(() => inImage(['touch', 'new'], server.env)).toThrow(/Read-only file system|Permission denied/);
  inImage(image.healthCheck, server.env);

  const created = inImage([...CLI, 'tokens', 'create', 'ann', '--all', '--json'], server.env);
  const { token } = JSON.parse(created) as { readonly token: string };
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ agent: 'clerk', prompt: 'Pay 950 EUR to ACME for invoice 7' });
  const { id } = (await (await fetch(`${server.url}/api/v1/runs`, { method: 'POST', headers, body })).json()) as Run;
  const cards = async () => (await (await fetch(`${server.url}/api/v1/runs/${id}`, { headers })).json()) as Run;
  await expect.poll(async () => (await cards()).pending.length, { timeout: 60_000 }).toBe(1);
  // Decided without a server: the worker continues the run.
  const [card = ''] = (await cards()).pending;
  inImage([...CLI, 'decide', card, '--approve', '--json'], server.env);
  await expect.poll(async () => (await cards()).status, { timeout: 60_000 }).toBe('done');

  const stream = await fetch(`${server.url}/api/v1/changes`, { headers });
  for (const { child } of [server, worker]) child.kill('SIGTERM');
  expect(await stream.text()).toContain(': connected');
  for (const { child, ended } of [server, worker]) {
    await ended;
    expect(child.exitCode).toBe(0);
  }
});

type Run = { readonly id: string; readonly status: string; readonly pending: readonly string[] };

/** Locks the versions, as a user does before the first build. Our packages come from the tarballs. */
function lock(context: string): void {
  const path = join(context, 'package.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as { readonly dependencies: Record<string, string> };
  const ours = tarballs();
  const dependencies = Object.fromEntries(
    Object.entries(manifest.dependencies).map(([name, range]) => [name, ours[name] ?? range]),
  );
  const others = Object.entries(ours).filter(([name]) => !(name in dependencies));
  const overrides = { ...Object.fromEntries(others), countersign: '$countersign' };
  writeFileSync(path, JSON.stringify({ ...manifest, dependencies, overrides }));
  npmInstall(context, '--package-lock-only');
}

type Image = {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly command: readonly string[];
  readonly healthCheck: readonly string[];
};

/** Runs the instructions of a Dockerfile. Each stage has a folder in place of its WORKDIR. */
function build(dockerfile: string, context: string): Image {
  const stages = new Map<string, string>();
  let image: Image = { folder: '', env: {}, command: [], healthCheck: [] };
  for (const line of dockerfile.split('\n')) {
    const [, instruction, rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    const words = rest.split(' ').filter((word) => !word.startsWith('--'));
    const from = /--from=(\w+)/.exec(rest)?.[1];
    switch (instruction) {
      case 'FROM': {
        const name = words[2] ?? 'final';
        image = { folder: join(root, name), env: {}, command: [], healthCheck: [] };
        stages.set(name, image.folder);
        mkdirSync(image.folder);
        break;
      }
      case 'COPY':
        copy(words.slice(0, -1), from === undefined ? context : (stages.get(from) ?? ''), image.folder);
        break;
      case 'RUN':
        execFileSync('sh', ['-c', rest], { cwd: image.folder, env: { ...environment(), ...OFFLINE, ...image.env } });
        break;
      case 'ENV':
        image = { ...image, env: Object.fromEntries(words.map((word) => word.split('=') as [string, string])) };
        break;
      case 'HEALTHCHECK':
        image = { ...image, healthCheck: JSON.parse(rest.slice(rest.indexOf('['))) };
        break;
      case 'CMD':
        image = { ...image, command: JSON.parse(rest) };
        break;
      case 'WORKDIR':
      case 'USER':
      case 'EXPOSE':
      case undefined:
        break;
      default:
        throw new Error(`The test does not know the instruction ${instruction}.`);
    }
  }
  return image;
}

/** Fetches from the registry only what npm has not cached. */
const OFFLINE = { npm_config_prefer_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' };

/** From another stage, everything is copied: the source is its WORKDIR. */
function copy(names: readonly string[], from: string, to: string): void {
  for (const name of names) {
    const isAll = name === '.' || name.startsWith('/');
    cpSync(isAll ? from : join(from, name), isAll ? to : join(to, name), { recursive: true, verbatimSymlinks: true });
  }
}

/** Starts a command of the image; `PORT` in it is the port of the process. */
async function start(command: readonly string[]) {
  const port = String(await freePort());
  const store = { COUNTERSIGN_STORE: postgres.url(), PATH: `${join(root, 'bin')}:${process.env.PATH}` };
  const env = { ...environment(), ...image.env, ...store, PORT: port };
  const [program = '', ...args] = confined(command.map((word) => (word === 'PORT' ? port : word)));
  const child = spawn(program, args, { cwd: image.folder, env, stdio: ['ignore', 'ignore', 'inherit'] });
  children.push(child);
  return { child, env, url: `http://127.0.0.1:${port}`, ended: once(child, 'exit') };
}

/** A command as kubernetes.yaml confines it. Only root can do that. */
function confined(command: readonly string[]): readonly string[] {
  if (process.getuid?.() !== 0) return command;
  const rights = '--reuid 1000 --regid 1000 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all';
  return [
    'unshare',
    '--mount',
    'sh',
    '-ec',
    `mount -o remount,bind,ro /; exec setpriv ${rights} "$0" "$@"`,
    ...command,
  ];
}

function inImage(command: readonly string[], env: NodeJS.ProcessEnv): string {
  const [program = '', ...args] = confined(command);
  return execFileSync(program, args, { cwd: image.folder, env, encoding: 'utf8', stdio: 'pipe' });
}

async function statusOf(url: string): Promise<number> {
  try {
    return (await fetch(url)).status;
  } catch {
    await delay(50);
    return 0;
  }
}
