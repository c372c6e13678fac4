#!/usr/bin/env node
// The command `countersign`, which comes with @countersign/server: runs it in this process if the project or this installation
// has it, and otherwise says what to install, or lets npm run it. Its syntax is one that old Nodes know, so that they can say so.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const SERVER = '@countersign/server';
/** Set for the process that npm starts, so that it never starts npm again. */
const STARTED = 'COUNTERSIGN_STARTED_BY_NPM';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  const advice = 'Install Node 24 (https://nodejs.org, or `nvm install 24`).';
  fail(`countersign needs Node 22.18 or later; this is Node ${process.versions.node}. ${advice}`);
} else run();

function run() {
  const project = join(process.cwd(), 'package.json');
  const server = resolved(`${SERVER}/package.json`, project) || resolved(`${SERVER}/package.json`, import.meta.url);
  if (server) {
    const program = join(dirname(server), 'bin/countersign.js');
    // `dev` starts the same program again.
    process.argv[1] = program;
    import(pathToFileURL(program).href).catch(({ stack }) => fail(`${SERVER} cannot be loaded. ${stack}`));
  } else if (resolved('countersign', project) || process.env[STARTED]) {
    fail(`The command countersign comes with ${SERVER}, which is not installed here. Run: npm install ${SERVER}`);
  } else runWithNpm();
}

/** Of this version, into the cache of npm: nothing is written into the folder. */
function runWithNpm() {
  const { version } = JSON.parse(readFileSync(fileURLToPath(new URL('../package.json', import.meta.url)), 'utf8'));
  const given = process.argv.slice(2);
  const args = ['exec', '--yes', `--package=${SERVER}@${version}`, '--', 'countersign', ...given];
  process.stderr.write(`${SERVER} is not installed here, so npm runs it: npm ${args.join(' ')}\n`);
  const [command, ...before] = npm();
  const child = spawn(command, [...before, ...args], { stdio: 'inherit', env: { ...process.env, [STARTED]: '1' } });
  // A terminal sends these to the child, too. This process ends after it.
  process.on('SIGINT', () => {});
  process.on('SIGHUP', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('error', ({ message }) => fail(`npm cannot be started: ${message}. Run: npm install ${SERVER}`));
  child.on('close', (code) => {
    // Coding agents run a call if its hook ends with another failure than 2.
    process.exitCode = code === 0 ? 0 : given[0] === 'hook' ? 2 : code === null ? 1 : code;
  });
}

/** The npm that runs this program, or the one of this Node, or the one in the path. */
function npm() {
  const beside = join(dirname(process.execPath), 'node_modules/npm/bin/npm-cli.js');
  const running = process.env.npm_execpath || '';
  const script = /npm-cli\.js$/.test(running) ? running : existsSync(beside) ? beside : undefined;
  return script ? [process.execPath, script] : ['npm'];
}

function resolved(name, from) {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return undefined;
  }
}

function fail(message) {
  // Coding agents run a call if its hook ends with 1. What has been loaded may keep the process alive.
  process.stderr.write(`error: ${message}\n`, () => process.exit(2));
}
