// A random secret that all processes on a store share.
import { randomBytes } from 'node:crypto';
import type { Notes } from 'countersign/store';

/** Only one of several processes makes it; all of them read what was written. */
export async function keptSecret(notes: Notes, collection: string, key: string): Promise<string> {
  const found = await notes.get(collection, key);
  if (found) return String(found.value);
  await notes.put(collection, key, randomBytes(32).toString('base64url'), { version: 0 });
  return keptSecret(notes, collection, key);
}
