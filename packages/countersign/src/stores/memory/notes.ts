// The rows of notes in the memory of this process.
import type { NewNote, NoteRow, NoteRows } from '../rules/notes.ts';

export class MemoryNotes implements NoteRows {
  readonly #now: () => number;
  readonly #collections = new Map<string, Map<string, NoteRow>>();
  #lastVersion = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  async get(collection: string, keys: readonly string[]): Promise<readonly NoteRow[]> {
    return keys.flatMap((key) => this.#find(collection, key) ?? []);
  }

  async put(collection: string, key: string, { value, version, expiresAt }: NewNote): Promise<boolean> {
    if (version !== null && version !== (this.#find(collection, key)?.version ?? 0)) return false;
    const rows = this.#collections.get(collection) ?? new Map<string, NoteRow>();
    this.#collections.set(collection, rows);
    this.#lastVersion += 1;
    rows.set(key, { key, value, version: this.#lastVersion, expires_at: expiresAt });
    return true;
  }

  async remove(collection: string, key: string): Promise<boolean> {
    if (this.#find(collection, key) === undefined) return false;
    return this.#collections.get(collection)?.delete(key) ?? false;
  }

  async list(collection: string, after: string, limit: number): Promise<readonly NoteRow[]> {
    const now = this.#now();
    const rows = [...(this.#collections.get(collection)?.values() ?? [])].filter(
      (row) => isLive(row, now) && byBytes(row.key, after) > 0,
    );
    return rows.sort((a, b) => byBytes(a.key, b.key)).slice(0, limit);
  }

  #find(collection: string, key: string): NoteRow | undefined {
    const row = this.#collections.get(collection)?.get(key);
    return row !== undefined && isLive(row, this.#now()) ? row : undefined;
  }

  async sweep(): Promise<void> {
    const now = this.#now();
    for (const [collection, rows] of this.#collections) {
      for (const [key, row] of rows) if (!isLive(row, now)) rows.delete(key);
      if (rows.size === 0) this.#collections.delete(collection);
    }
  }
}

function isLive({ expires_at }: NoteRow, now: number): boolean {
  return expires_at === null || expires_at > now;
}

/** As the databases compare them. */
function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
