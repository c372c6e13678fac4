// JavaScript runtimes as npm packages, which stay in a cache between runs of the tests.
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { npmInstall, run } from './install.ts';

const CACHE = resolve(import.meta.dirname, '../../../../node_modules/.cache/countersign-runtimes');

/** The oldest Node that the engine and its SQLite store support. */
export const OLDEST_NODE = '22.13.0';
/** The oldest Node that runs the TypeScript file of a user, which the server and the command need. */
export const OLDEST_NODE_OF_SERVER = '22.18.0';

/** How to start a program: the command, and its first arguments. */
export type Runtime = { readonly name: string; readonly command: string; readonly args: readonly string[] };

const platform = process.platform === 'win32' ? 'win' : process.platform;
const NODE = `node-${platform}-${process.arch}`;

export function node(version: string): Runtime {
  return { name: `Node ${version}`, command: installed(NODE, version, 'bin/node'), args: ['--no-warnings'] };
}

export function bun(version: string): Runtime {
  const arch = process.arch === 'arm64' ? 'aarch64' : process.arch;
  const command = installed(`@oven/bun-${process.platform}-${arch}`, version, 'bin/bun');
  return { name: `Bun ${version}`, command, args: [] };
}

export function deno(version: string): Runtime {
  const libc = process.platform === 'linux' ? '-glibc' : '';
  const command = installed(`@deno/${process.platform}-${process.arch}${libc}`, version, 'deno');
  return { name: `Deno ${version}`, command, args: ['run', '--quiet', '--allow-all'] };
}

/** The newest version of a package on npm that begins so. */
export function newest(packageName: 'node' | 'bun' | 'deno', prefix = ''): string {
  const name = packageName === 'node' ? NODE : packageName;
  const versions = JSON.parse(run('npm', ['view', name, 'versions', '--json'], dirname(CACHE))) as readonly string[];
  const found = versions.filter((version) => /^[\d.]+$/.test(version) && version.startsWith(prefix));
  return found.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1) ?? '';
}

/** The path of a file in a package, which is installed unless it is in the cache. */
function installed(packageName: string, version: string, file: string): string {
  const folder = join(CACHE, `${packageName.replace('/', '-')}-${version}`);
  const path = join('node_modules', packageName, file);
  if (existsSync(join(folder, path))) return join(folder, path);
  mkdirSync(CACHE, { recursive: true });
  const fresh = mkdtempSync(join(CACHE, 'installing-'));
  writeFileSync(join(fresh, 'package.json'), JSON.stringify({ dependencies: { [packageName]: version } }));
  npmInstall(fresh);
  try {
    renameSync(fresh, folder);
  } catch {
    // Another worker was faster.
    rmSync(fresh, { recursive: true });
  }
  return join(folder, path);
}
