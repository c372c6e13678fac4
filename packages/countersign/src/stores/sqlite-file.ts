// Which files of the disk a database is, so that it is noticed when one is taken away or another put in its place.
import { realpathSync, statSync } from 'node:fs';
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
