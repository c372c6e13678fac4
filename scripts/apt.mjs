// Debian's packages, for what the tests need and the system does not have.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Another process may hold the lock, and a mirror may fail once. */
const PATIENT = ['-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=3'];

export const canInstall = () => process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');

/** What went wrong, or undefined. */
export function install(...packages) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const options = { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] };
  spawnSync('apt-get', [...PATIENT, 'update', '-q'], options);
  const wanted = ['install', '-qy', '--no-install-recommends', ...packages];
  const { status, stderr } = spawnSync('apt-get', [...PATIENT, ...wanted], options);
  return status === 0 ? undefined : stderr;
}
