// The larger files of previews. The record of a run has their hashes; their bytes are notes of the store, in parts.

import { hash } from 'node:crypto';
import type { PreviewFile } from '../core/request/file.ts';
import type { Notes } from './port/notes.ts';

const FILES = 'preview-files';

/** The bytes in one note. */
const PART = 500_000;

/** The first part is written last: where it exists, the file is complete. */
export async function keepFile(notes: Notes, runId: string, sha256: string, bytes: Uint8Array): Promise<void> {
  if (await notes.get(FILES, keyOf(runId, sha256, 0))) return;
  for (let part = Math.ceil(bytes.length / PART) - 1; part >= 0; part -= 1) {
    const data = Buffer.from(bytes.subarray(part * PART, (part + 1) * PART)).toString('base64');
    await notes.put(FILES, keyOf(runId, sha256, part), data);
  }
}

/** Undefined if the store does not have these bytes. */
export async function readFile(notes: Notes, runId: string, file: PreviewFile): Promise<Uint8Array | undefined> {
  const parts = Array.from({ length: Math.ceil(file.size / PART) }, (_, part) => keyOf(runId, file.sha256, part));
  const bytes: Uint8Array[] = [];
  for (const key of parts) {
    const note = await notes.get(FILES, key);
    if (typeof note?.value !== 'string') return undefined;
    bytes.push(Buffer.from(note.value, 'base64'));
  }
  const all = Buffer.concat(bytes);
  return hash('sha256', all, 'hex') === file.sha256 ? all : undefined;
}

/** With the run that they belong to. */
export async function removeFiles(notes: Notes, runId: string): Promise<void> {
  const prefix = `${runId}/`;
  for (;;) {
    const { items } = await notes.list(FILES, { after: prefix, limit: 10 });
    const own = items.filter(({ key }) => key.startsWith(prefix));
    for (const { key } of own) await notes.remove(FILES, key);
    if (own.length === 0 || own.length < items.length) return;
  }
}

// The id of a run has no slash.
const keyOf = (runId: string, sha256: string, part: number): string => `${runId}/${sha256}/${part}`;
