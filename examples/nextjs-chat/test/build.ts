// Builds the app for the tests, once per state of the sources.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

export const folder = resolve(import.meta.dirname, '..');
const root = resolve(folder, '../..');
const stamp = join(folder, '.next/built-from');
const lock = join(folder, '.next-build-lock');

/** Resolves when `.next` is what the sources say. Test files that run side by side build once. */
export async function buildApp(): Promise<void> {
  await locked(() => {
    // `npm test` has built everything.
    if (process.env.COUNTERSIGN_SHARED_SERVERS !== '1') run('typescript/bin/tsc', ['-b', 'packages/react'], root);
    const sources = hashOfSources();
    if (existsSync(stamp) && readFileSync(stamp, 'utf8') === sources) return;
    run('next/dist/bin/next', ['build'], folder);
    writeFileSync(stamp, sources);
  });
}

function hashOfSources(): string {
  const files = [
    ...globSync('{app,chat,demo-model,recipe,server}/**/*.{ts,tsx,css}', { cwd: folder }).map((file) =>
      join(folder, file),
    ),
    ...globSync('*.{ts,mjs,json}', { cwd: folder }).map((file) => join(folder, file)),
    ...globSync('packages/{countersign,react}/dist/**/*.js', { cwd: root }).map((file) => join(root, file)),
    join(root, 'packages/react/src/styles.css'),
    join(root, 'package-lock.json'),
  ].filter((file) => !file.endsWith('next-env.d.ts'));
  const hash = createHash('sha256').update(process.version);
  for (const file of files.sort()) hash.update(file).update(readFileSync(file));
  return hash.digest('hex');
}

function run(script: string, args: readonly string[], cwd: string): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'node_modules', script), ...args], {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1', BUILD_ONCE: '1' },
  });
  if (status !== 0) throw new Error(`${script} ${args.join(' ')} failed:\n${stdout}\n${stderr}`);
}

/** One process at a time: a file can be made once. What a process that died has left behind does not count. */
async function locked(work: () => void): Promise<void> {
  while (!took()) await delay(200);
  try {
    work();
  } finally {
    rmSync(lock);
  }
}

function took(): boolean {
  try {
    writeFileSync(lock, `${process.pid}`, { flag: 'wx' });
    return true;
  } catch {
    // Another process builds, or died while building.
    if (!isAlive()) rmSync(lock, { force: true });
    return false;
  }
}

function isAlive(): boolean {
  try {
    const holder = readFileSync(lock, 'utf8');
    // Made and not written yet.
    return holder === '' || process.kill(Number(holder), 0);
  } catch {
    // Gone, the file or the process.
    return false;
  }
}
