// Recognizes the files of a database, to notice when one is deleted or replaced.
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';

export type FilePlace = { readonly path: string; readonly device: bigint; readonly inode: bigint };

/** Undefined if there is no such file, as for `:memory:`. */
export function placeOfFile(path: string): FilePlace | undefined {
  if (path === ':memory:') return undefined;
  // The process may change its working directory later.
  const absolute = resolve(path);
  const found = lookAt(absolute);
  return found === undefined || found === 'unknown' ? undefined : { path: absolute, ...found };
}

/**
 * The log and the locks of a database in WAL mode, which exist while it is open. Writes to a deleted log are lost with the
 * process, and a process that creates new ones writes at the same time.
 */
export function placesBeside({ path }: FilePlace): readonly FilePlace[] {
  return ['-wal', '-shm'].map((end) => {
    const beside = `${realpathSync(path)}${end}`;
    return placeOfFile(beside) ?? { path: beside, device: NOWHERE, inode: NOWHERE };
  });
}

const NOWHERE = -1n;

/**
 * How the file could be open under a second name, if it can. The log and the locks are beside the name used, so processes
 * with different names neither see nor wait for each other.
 */
export function otherNameOf(path: string): 'link' | 'mount' | undefined {
  if (path === ':memory:') return undefined;
  try {
    const file = statSync(path);
    if (file.isFile() && file.nlink > 1) return 'link';
    return mountPoints().includes(realpathSync(path)) ? 'mount' : undefined;
  } catch {
    // The file does not exist yet, or is not accessible: SQLite reports that itself.
    return undefined;
  }
}

/** The mount points of this process, on Linux. */
function mountPoints(): readonly string[] {
  try {
    const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
    const unescaped = (name: string): string =>
      name.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
    return lines.map((line) => unescaped(line.split(' ')[4] ?? ''));
  } catch {
    // Not Linux.
    return [];
  }
}

/** Whether the path still leads to this file. Takes some microseconds. */
export function isSamePlace({ path, device, inode }: FilePlace): boolean {
  const found = lookAt(path);
  if (found === 'unknown') return true;
  return found !== undefined && found.device === device && found.inode === inode;
}

/** Undefined if the file does not exist. */
function lookAt(path: string): Omit<FilePlace, 'path'> | 'unknown' | undefined {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found && { device: found.dev, inode: found.ino };
  } catch {
    // The folder is no longer accessible: SQLite reports that itself.
    return 'unknown';
  }
}
