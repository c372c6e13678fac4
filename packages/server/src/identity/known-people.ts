// Remembers who has signed in: such people are known, and can be delegates.
import type { Countersign } from 'countersign';

/** How often the store is told about the same person. */
const AGAIN_MS = 24 * 3_600_000;
const MOST = 10_000;

/** Rejects if the store fails. */
export function signInMemory({
  people,
}: Pick<Countersign, 'people'>): (person: string, name: string | null) => Promise<void> {
  const told = new Map<string, number>();
  return async (person, name) => {
    const now = performance.now();
    if (now < (told.get(person) ?? 0)) return;
    if (told.size >= MOST) told.clear();
    told.set(person, now + AGAIN_MS);
    await people.signedIn(person, name).catch((error: unknown) => {
      told.delete(person);
      throw error;
    });
  };
}
