// Installs the packed packages as a user does, from tarballs and a registry, and runs programs there.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

/** The tarball of each package, by its name on npm. */
export function tarballs(): Readonly<Record<string, string>> {
  const folder = process.env.COUNTERSIGN_PACKED ?? '';
  const find = (pattern: string) => `file:${join(folder, globSync(pattern, { cwd: folder })[0] ?? pattern)}`;
  return {
    countersign: find('countersign-[0-9]*.tgz'),
    '@countersign/react': find('countersign-react-*.tgz'),
    '@countersign/server': find('countersign-server-*.tgz'),
    'create-countersign': find('create-countersign-*.tgz'),
  };
}

/** Fetches from the registry only what npm has not cached. */
export function npmInstall(folder: string, ...options: readonly string[]): void {
  run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', ...options], folder);
}

/** Runs a program to its end and returns its standard output. Fails with all of its output. */
export function run(command: string, args: readonly string[], cwd: string, input = ''): string {
  try {
    return execFileSync(command, args, { cwd, env: environment(), input, encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout ?? ''}\n${stderr ?? error}`);
  }
}

/** Starts a program with Node, and resolves with the match as soon as it prints it. */
export async function startUntil(
  args: readonly string[],
  cwd: string,
  wanted: RegExp,
  env: NodeJS.ProcessEnv | object = {},
) {
  const child = spawn(process.execPath, args, { cwd, env: { ...environment(), ...env }, stdio: 'pipe' });
  let output = '';
  const found = await new Promise<RegExpExecArray>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        const match = wanted.exec(output);
        if (match) resolve(match);
      });
    child.on('close', () => reject(new Error(`${wanted} was not printed:\n${output}`)));
  });
  return { found, stop: () => stopped(child) };
}

function stopped(child: ChildProcess): Promise<unknown> {
  const ended = new Promise((resolve) => child.on('close', resolve));
  child.kill('SIGTERM');
  return ended;
}

/** Programs run on the Node of this process, also if npm starts them, and know nothing of the test runner. */
export function environment(): NodeJS.ProcessEnv {
  const { NODE_ENV, FORCE_COLOR, VITEST, ...rest } = process.env;
  const PATH = [dirname(process.execPath), rest.PATH].join(delimiter);
  const plain = { PATH, NO_COLOR: '1', NEXT_TELEMETRY_DISABLED: '1', npm_config_loglevel: 'error' };
  // The types of Next.js require NODE_ENV, which Next.js sets itself.
  return { ...rest, ...plain } as unknown as NodeJS.ProcessEnv;
}
