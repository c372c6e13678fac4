// Starts the tools of this repo: on the Node that runs this script, never on another one that is on the PATH.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

export const root = join(import.meta.dirname, '..');
refuseOldNode();
const modules = join(root, 'node_modules');
const PATH = [dirname(process.execPath), join(modules, '.bin'), process.env.PATH].join(delimiter);

/** Runs a command to its end. `show` lets its output through; otherwise it is returned beside the exit code. */
export function run(command, args, { cwd = root, show = false } = {}) {
  const stdio = show ? 'inherit' : ['ignore', 'pipe', 'pipe'];
  const env = { ...process.env, PATH };
  const result = spawnSync(command, args, { cwd, env, stdio, encoding: 'utf8', maxBuffer: 1 << 26 });
  if (result.error) throw result.error;
  return {
    code: result.status ?? 1,
    stdout: result.stdout ?? '',
    output: `${result.stdout ?? ''}${result.stderr ?? ''}`,
  };
}

/** Runs a command to its end while others run. Resolves with its exit code; without `show`, with its output as well. */
export function runBeside(command, args, { cwd = root, show = false, env = {} } = {}) {
  const stdio = show ? 'inherit' : ['ignore', 'pipe', 'pipe'];
  const child = spawn(command, args, { cwd, env: { ...process.env, PATH, ...env }, stdio });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data) => output.push(data));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 1, output: Buffer.concat(output).toString() }));
  });
}

/** The command line of a tool that is installed here. */
export function tool(packageName, command = packageName) {
  const manifest = JSON.parse(readFileSync(join(modules, packageName, 'package.json'), 'utf8'));
  return [process.execPath, join(modules, packageName, manifest.bin[command])];
}

/** The command line of the npm that started us. */
export function npm() {
  return process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ['npm'];
}

// npm leaves an optional package out in silence, even if it only could not be fetched: said here once, instead of by
// whatever an old Node does not know.
function refuseOldNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 18)) return;
  console.error(
    `This is Node ${process.version}, and the scripts of this repository need Node 24. On Linux (x64 and arm64) "npm ci" ` +
      'brings it, unless optional packages are left out, and npm uses it: "npm ci && npm test". Elsewhere, install Node 24.',
  );
  process.exit(1);
}
