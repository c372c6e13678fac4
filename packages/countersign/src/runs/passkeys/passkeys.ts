// The passkeys of people, in the notes of the store: one note per person, which changes only by compare-and-set.
import { ConflictError, UsageError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json.ts';
import type { Note, Notes } from '../port/notes.ts';

/** A passkey that a person has enrolled. */
export type Passkey = {
  /** The credential id, in base64url. */
  readonly id: string;
  readonly name: string;
  /** The COSE public key, in base64url. */
  readonly publicKey: string;
  readonly transports: readonly string[];
  readonly createdAt: number;
  /** A revoked key signs nothing new. Its earlier signatures still verify. */
  readonly revokedAt: number | null;
};

const COLLECTION = 'passkeys';
const MOST_KEYS = 50;
const ATTEMPTS = 10;

/** Enrolled passkeys; `ai.runs.passkeys`. The caller checks whether a person can enrol a key. */
export class Passkeys {
  readonly #notes: Notes;
  readonly #now: () => Promise<number>;

  constructor(notes: Notes, now: () => Promise<number>) {
    this.#notes = notes;
    this.#now = now;
  }

  /** All keys that the person has ever enrolled, the revoked ones included. */
  async list(person: string): Promise<readonly Passkey[]> {
    return keysIn(await this.#notes.get(COLLECTION, person));
  }

  /** Adds a key. `first`: only if the person has never had one. */
  async add(
    person: string,
    key: Omit<Passkey, 'createdAt' | 'revokedAt'>,
    { first = false }: { readonly first?: boolean } = {},
  ): Promise<Passkey> {
    const added = { ...key, createdAt: await this.#now(), revokedAt: null };
    await this.#change(person, (keys) => {
      if (first && keys.length > 0)
        throw new ConflictError('stale-version', { person }, `${person} has enrolled a passkey meanwhile. Try again.`);
      if (keys.some(({ id }) => id === key.id) || keys.length >= MOST_KEYS)
        throw new UsageError(
          'invalid-options',
          { person },
          `This passkey is enrolled already, or ${person} has too many.`,
        );
      return [...keys, added];
    });
    return added;
  }

  /** Throws `not-found` if the person has no such key. */
  async rename(person: string, id: string, name: string): Promise<void> {
    await this.#change(person, (keys) => changed(keys, person, id, (key) => ({ ...key, name })));
  }

  /** Revoking again changes nothing. Throws `not-found` if the person has no such key. */
  async revoke(person: string, id: string): Promise<void> {
    const now = await this.#now();
    await this.#change(person, (keys) =>
      changed(keys, person, id, (key) => ({ ...key, revokedAt: key.revokedAt ?? now })),
    );
  }

  /** Removes all keys of a person, so that they can enrol a first one again. For operators. */
  async reset(person: string): Promise<void> {
    await this.#notes.remove(COLLECTION, person);
  }

  async #change(person: string, change: (keys: readonly Passkey[]) => readonly Passkey[]): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const note = await this.#notes.get(COLLECTION, person);
      const keys = change(keysIn(note));
      if (await this.#notes.put(COLLECTION, person, { keys } as unknown as Json, { version: note?.version ?? 0 }))
        return;
    }
    throw new ConflictError('stale-version', { person }, `The passkeys of ${person} keep changing. Try again.`);
  }
}

function keysIn(note: Note | undefined): readonly Passkey[] {
  const keys = isObject(note?.value) ? note.value.keys : undefined;
  return Array.isArray(keys) ? (keys as unknown as readonly Passkey[]) : [];
}

function changed(
  keys: readonly Passkey[],
  person: string,
  id: string,
  change: (key: Passkey) => Passkey,
): readonly Passkey[] {
  if (keys.some((key) => key.id === id)) return keys.map((key) => (key.id === id ? change(key) : key));
  throw new UsageError('not-found', { status: 404, person }, `${person} has no such passkey.`);
}
