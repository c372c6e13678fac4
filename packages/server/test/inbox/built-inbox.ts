// The shipped inbox, built once for each state of its sources.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const SOURCES = ['apps/inbox/src', 'apps/inbox/public', 'packages/react/src'];
const SINGLE = [
  'apps/inbox/index.html',
  'apps/inbox/vite.config.ts',
  'packages/countersign/scripts/licences.ts',
  'package-lock.json',
];

let built: Promise<string> | undefined;

/** The folder of the built app. The sources do not change while tests run, so they are read once. */
export function builtInbox(): Promise<string> {
  built ??= build();
  return built;
}

/** Where it is, or will be. The test command puts the packed one there. */
export function inboxFolder(): string {
  return join(root, 'node_modules/.cache/countersign-inbox', digestOfSources());
}

async function build(): Promise<string> {
  const folder = inboxFolder();
  if (existsSync(folder)) return folder;
  const draft = `${folder}.${process.pid}`;
  await mkdir(draft, { recursive: true });
  // A separate process, because a build inside a test would be a test build.
  await promisify(execFile)(
    process.execPath,
    [join(root, 'node_modules/vite/bin/vite.js'), 'build', '--outDir', draft, '--logLevel', 'error'],
    { cwd: join(root, 'apps/inbox'), env: { ...process.env, NODE_ENV: 'production' } },
  );
  try {
    await rename(draft, folder);
  } catch {
    // Another worker built the same files first.
    await rm(draft, { recursive: true, force: true });
  }
  return folder;
}

function digestOfSources(): string {
  const hash = createHash('sha256');
  const files = SOURCES.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  for (const file of [...files, ...SINGLE.map((name) => join(root, name))].sort())
    hash.update(file).update('\0').update(readFileSync(file)).update('\0');
  return hash.digest('hex').slice(0, 16);
}
