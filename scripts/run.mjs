// Starts the tools of this repo: on the Node that runs this script, never on another one that is on the PATH.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

export const root = join(import.meta.dirname, '..');
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

/** The command line of a tool that is installed here. */
export function tool(packageName, command = packageName) {
  const manifest = JSON.parse(readFileSync(join(modules, packageName, 'package.json'), 'utf8'));
  return [process.execPath, join(modules, packageName, manifest.bin[command])];
}

/** The command line of the npm that started us. */
export function npm() {
  return process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ['npm'];
}
