// Which files of the disk a database is, so that it is noticed when one is taken away or another put in its place.
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';

export type FilePlace = { readonly path: string; readonly device: bigint; readonly inode: bigint };

/** Undefined if there is no such file on the disk, as for `:memory:`. */
export function placeOfFile(path: string): FilePlace | undefined {
  if (path === ':memory:') return undefined;
  // As it is now: the process may change its folder, and has the file open all the same.
  const absolute = resolve(path);
  const found = lookAt(absolute);
  return found === undefined || found === 'unknown' ? undefined : { path: absolute, ...found };
}

/**
 * The log and the locks of a database in WAL mode, which are there for as long as it is open. What is written to a log that was
 * taken away is lost with the process, and whoever makes others writes at the same time.
 */
export function placesBeside({ path }: FilePlace): readonly FilePlace[] {
  return ['-wal', '-shm'].map((end) => {
    const beside = `${realpathSync(path)}${end}`;
    return placeOfFile(beside) ?? { path: beside, device: NOWHERE, inode: NOWHERE };
  });
}

const NOWHERE = -1n;

/**
 * How the file may be in use by another name than its own, if it can be. The log and the locks are beside the name by which it
 * was opened: those who use different ones neither see nor wait for each other.
 */
export function otherNameOf(path: string): 'link' | 'mount' | undefined {
  if (path === ':memory:') return undefined;
  try {
    const file = statSync(path);
    if (file.isFile() && file.nlink > 1) return 'link';
    return mountPoints().includes(realpathSync(path)) ? 'mount' : undefined;
  } catch {
    // There is none yet, or it may not be looked at: SQLite itself says what it cannot do.
    return undefined;
  }
}

/** Those of this process, where the system tells them as Linux does. */
function mountPoints(): readonly string[] {
  try {
    const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
    const unescaped = (name: string): string =>
      name.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
    return lines.map((line) => unescaped(line.split(' ')[4] ?? ''));
  } catch {
    // No Linux.
    return [];
  }
}

/** Whether the path still stands for this file. It takes some microseconds. */
export function isSamePlace({ path, device, inode }: FilePlace): boolean {
  const found = lookAt(path);
  if (found === 'unknown') return true;
  return found !== undefined && found.device === device && found.inode === inode;
}

/** Undefined if there is none. */
function lookAt(path: string): Omit<FilePlace, 'path'> | 'unknown' | undefined {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found && { device: found.dev, inode: found.ino };
  } catch {
    // The folder may not be looked into any more. SQLite itself says what it cannot do.
    return 'unknown';
  }
}
