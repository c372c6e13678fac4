// A private PostgreSQL for tests and trials: on loopback, on a free port, in a temporary folder that is removed afterwards.
//
//   node scripts/postgres.mjs                 prints the address and keeps the server until Ctrl-C
//   node scripts/postgres.mjs npm run thing   runs the command with POSTGRES_URL set, then stops the server
import { spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { canInstall, install } from './apt.mjs';

/**
 * Starts a server in a separate process that stops it and removes its folder as soon as this process is gone.
 * Rejects with the reason when PostgreSQL is missing and cannot be installed.
 * `settings` go to the server; by default it does not wait for the disk, which only matters if the computer crashes.
 * With `standbyOf`, the port of another server, it copies that one and follows it, under the name `standby`.
 */
export async function startPostgres({ settings = { fsync: 'off' }, standbyOf } = {}) {
  const child = spawn(process.execPath, [import.meta.filename, '--serve', JSON.stringify({ settings, standbyOf })], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async () => {
    const { value } = await lines.next();
    const { problem, ...rest } = JSON.parse(value ?? '{"problem":"The server ended at its start."}');
    if (problem !== undefined) throw new Error(problem);
    return rest;
  };
  const ask = (order) => {
    child.stdin.write(`${order}\n`);
    return answer();
  };
  const { port } = await answer();
  return {
    port,
    /** The address of a database; the superuser needs no password. */
    url: (database = 'postgres') => `postgres://postgres@127.0.0.1:${port}/${database}`,
    /** Stops the server at once, in the middle of whatever it does. */
    crash: () => ask('crash'),
    /** Starts it again after a crash. */
    start: () => ask('start'),
    async stop() {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.stdin.end();
      await gone;
    },
  };
}

if (process.argv[1] === import.meta.filename) {
  const [first, ...rest] = process.argv.slice(2);
  if (first === '--serve') await serve(JSON.parse(rest[0]));
  else await keep(first, rest);
}

/** The command line: keeps a server while a command runs, or until Ctrl-C. */
async function keep(command, args) {
  const server = await startPostgres({ settings: {} });
  const url = server.url();
  if (command === undefined) {
    console.log(`${url}\nCtrl-C stops it.`);
    const wait = setInterval(() => {}, 1 << 30);
    await new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve));
    clearInterval(wait);
  } else {
    const { status } = await new Promise((resolve) => {
      const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, POSTGRES_URL: url } });
      child.once('error', () => resolve({ status: 127 })).once('exit', (status) => resolve({ status: status ?? 1 }));
    });
    process.exitCode = status;
  }
  await server.stop();
}

/** The process that owns the server. It obeys the lines on its input, and stops when that ends. */
async function serve({ settings, standbyOf }) {
  const say = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);
  // An interrupt of the whole group reaches us too; the end of the input is what counts.
  process.on('SIGINT', () => {}).on('SIGTERM', () => process.stdin.destroy());
  let server;
  try {
    server = await createPostgres(settings, standbyOf);
    say({ port: server.port });
    for await (const order of createInterface({ input: process.stdin })) {
      if (order === 'crash') await server.end('SIGQUIT');
      if (order === 'start') await server.start();
      say({});
    }
  } catch (error) {
    say({ problem: error.message });
  } finally {
    await server?.remove();
  }
}

async function createPostgres(settings, standbyOf) {
  const binaries = findBinaries() ?? installed();
  const owner = serverUser();
  const folder = makeFolder(owner);
  const data = join(folder, 'data');
  const as = { ...owner, cwd: folder, env: { PATH: process.env.PATH, LC_ALL: 'C' } };
  const primary = `host=127.0.0.1 port=${standbyOf} user=postgres application_name=standby`;
  const [program, ...args] =
    standbyOf === undefined
      ? ['initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
      : ['pg_basebackup', '-D', data, '-d', primary, '-R', '-X', 'stream', '-c', 'fast', '--no-sync'];
  const made = spawnSync(join(binaries, program), args, { ...as, encoding: 'utf8' });
  if (made.status !== 0) {
    rmSync(folder, { recursive: true });
    throw new Error(`${program} failed: ${made.stderr || made.error?.message}`);
  }

  const port = await freePort();
  const options = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 100,
    ...settings,
  };
  const flags = Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const log = join(folder, 'log');
  let child;

  async function start() {
    child = spawn(join(binaries, 'postgres'), ['-D', data, ...flags], {
      ...as,
      stdio: ['ignore', 'ignore', openSync(log, 'a')],
    });
    for (let waited = 0; !isReady(data); waited += 50) {
      if (child.exitCode !== null || waited > 60_000)
        throw new Error(`postgres did not start:\n${readFileSync(log, 'utf8')}`);
      await delay(50);
    }
  }

  async function end(signal) {
    if (child === undefined || child.exitCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await gone;
  }

  async function remove() {
    await end('SIGINT');
    rmSync(folder, { recursive: true, force: true });
  }

  try {
    await start();
  } catch (error) {
    await remove();
    throw error;
  }
  return { port, start, end, remove };
}

/** The newest version that is installed. */
function findBinaries() {
  const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql') : [];
  const folders = versions.sort((a, b) => Number(b) - Number(a)).map((version) => `/usr/lib/postgresql/${version}/bin`);
  const { stdout } = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' });
  return [...folders, stdout?.trim()].find((folder) => folder && existsSync(join(folder, 'initdb')));
}

function installed() {
  const manual = 'Install a PostgreSQL server (on Debian: apt-get install postgresql).';
  if (!canInstall()) {
    throw new Error(`PostgreSQL is not installed, and this script can install it only as root on Debian. ${manual}`);
  }
  const problem = install('postgresql');
  const binaries = findBinaries();
  if (problem !== undefined || binaries === undefined)
    throw new Error(`PostgreSQL could not be installed: ${problem ?? 'it is not where it should be.'} ${manual}`);
  return binaries;
}

/** PostgreSQL refuses to run as root. */
function serverUser() {
  if (process.getuid?.() !== 0) return {};
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout.trim());
    if (uid !== '') return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error('PostgreSQL refuses to run as root. Create a user `postgres` or `nobody` to run it as.');
}

/** In the temporary folder, or in the common one if the server's user may not go where this process keeps its own. */
function makeFolder(owner) {
  for (const parent of [tmpdir(), '/tmp', '/var/tmp']) {
    const folder = mkdtempSync(join(parent, 'countersign-postgres-'));
    if (owner.uid !== undefined) chownSync(folder, owner.uid, owner.gid);
    if (spawnSync('ls', [folder], { ...owner, cwd: '/' }).status === 0) return folder;
    rmSync(folder, { recursive: true });
  }
  throw new Error('No temporary folder can be reached by the user that PostgreSQL runs as.');
}

/** Below the ephemeral ports: a client that reconnects to a stopped server must not be given its port. */
async function freePort() {
  for (;;) {
    const port = 20_000 + Math.floor(12_000 * Math.random());
    if (await isFree(port)) return port;
  }
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** The server writes its state into the eighth line of its pid file. */
function isReady(data) {
  try {
    return readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[7]?.trim() === 'ready';
  } catch {
    // No file yet.
    return false;
  }
}
