// Prompt files on the disk: listed, read, and watched by their stamps.
import { UsageError } from '../core/errors.ts';

/** By path: what the disk said of the file when it was read. */
export type Stamps = ReadonlyMap<string, string>;

/** All .prompt files in and below the folder, in alphabetical order, with `/` between folders. */
export async function listPromptFiles(directory: string): Promise<readonly string[]> {
  const { readdir } = await import('node:fs/promises');
  const { sep } = await import('node:path');
  const files = await readdir(directory, { recursive: true }).catch((cause) => {
    throw new UsageError('unknown-prompt', { directory }, `The folder of prompts ${directory} cannot be read.`, {
      cause,
    });
  });
  return files
    .map((file) => file.replaceAll(sep, '/'))
    .filter((file) => file.endsWith('.prompt') && !/(?:^|\/)\./.test(file))
    .sort();
}

/** The text of the file, its stamp noted; `undefined` when there is no such file. */
export async function readStamped(path: string, stamps: Map<string, string>): Promise<string | undefined> {
  const { readFile } = await import('node:fs/promises');
  // The stamp first: should the file change in between, the next look notices.
  const stamp = await stampOf(path);
  if (stamp === undefined) return undefined;
  stamps.set(path, stamp);
  return readFile(path, 'utf8');
}

export async function isFresh(stamps: Stamps): Promise<boolean> {
  const fresh = await Promise.all([...stamps].map(async ([path, stamp]) => (await stampOf(path)) === stamp));
  return fresh.every(Boolean);
}

async function stampOf(path: string): Promise<string | undefined> {
  const { stat } = await import('node:fs/promises');
  try {
    const stats = await stat(path);
    return stats.isFile() ? `${stats.mtimeMs} ${stats.size} ${stats.ino}` : undefined;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}
