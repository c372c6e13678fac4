// Recognizes the files of a database, to notice when one is deleted or replaced.
import { closeSync, openSync, readFileSync, realpathSync, statSync } from 'node:fs';

export type FilePlace = { readonly path: string; readonly device: bigint; readonly inode: bigint };

/**
 * The file, its log and its locks, as far as they exist. Writes to a deleted log are lost with the process, and a process
 * that creates a new one writes at the same time.
 */
export function placesOf(path: string): readonly FilePlace[] {
  if (path === ':memory:' || path.startsWith('file:')) return [];
  const target = realpathSync(path);
  return [path, `${target}-wal`, `${target}-shm`].flatMap((each) => {
    const found = statSync(each, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? [] : [{ path: each, device: found.dev, inode: found.ino }];
  });
}

/** Whether the path still leads to this file. Takes some microseconds. */
export function isSamePlace({ path, device, inode }: FilePlace): boolean {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found?.dev === device && found.ino === inode;
}

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

/** Creates a missing file, for its owner only. SQLite gives the log and the locks the same permissions. */
export function createPrivate(path: string): void {
  if (path === ':memory:' || path.startsWith('file:')) return;
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch {
    // The file exists and keeps its permissions, or cannot be created: SQLite reports that itself.
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
