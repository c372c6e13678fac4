// The package manager: the one that the user named or that runs this program, and how it installs.
import { spawn } from 'node:child_process';
import { Refusal } from './refusal.ts';

export const PACKAGE_MANAGERS = ['npm', 'pnpm', 'yarn', 'bun'] as const;

export type PackageManager = (typeof PACKAGE_MANAGERS)[number];

export const isPackageManager = (name: string): name is PackageManager =>
  (PACKAGE_MANAGERS as readonly string[]).includes(name);

/** Package managers name themselves in `npm_config_user_agent`, as in `pnpm/10.1.0 npm/? node/v24`. */
export function runningPackageManager(userAgent = process.env.npm_config_user_agent ?? ''): PackageManager {
  const name = userAgent.split('/')[0] ?? '';
  return isPackageManager(name) ? name : 'npm';
}

/** As in `npm run dev`. */
export const scriptCommand = (manager: PackageManager, script: string): string =>
  script === 'start' || script === 'test' ? `${manager} ${script}` : `${manager} run ${script}`;

/** Installs the dependencies. Shows what the package manager prints. */
export async function install(manager: PackageManager, folder: string): Promise<void> {
  // Windows finds npm.cmd only through a shell.
  const options = { cwd: folder, stdio: 'inherit', shell: process.platform === 'win32' } as const;
  const code = await new Promise<number | null>((resolve, reject) => {
    spawn(manager, ['install'], options).on('error', reject).on('close', resolve);
  }).catch((error: NodeJS.ErrnoException) => {
    throw new Refusal(`${manager} could not be started (${error.code}). ${written(manager, folder)}`);
  });
  if (code !== 0) throw new Refusal(`${manager} install failed. ${written(manager, folder)}`);
}

const written = (manager: PackageManager, folder: string): string =>
  `The project is in ${folder}; run "${manager} install" there.`;
