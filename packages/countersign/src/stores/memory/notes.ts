// The rows of notes in the memory of this process.
import type { NewNote, NoteRow, NoteRows } from '../rules/notes.ts';

/** `keys` are the keys of the rows, sorted by their bytes, so that a page does not cost more the more notes there are. */
type Collection = { readonly rows: Map<string, NoteRow>; readonly keys: string[] };

export class MemoryNotes implements NoteRows {
  readonly #now: () => number;
  readonly #collections = new Map<string, Collection>();
  #lastVersion = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  versionOf(collection: string, key: string): number {
    return this.#find(collection, key)?.version ?? 0;
  }

  async get(collection: string, keys: readonly string[]): Promise<readonly NoteRow[]> {
    return keys.flatMap((key) => this.#find(collection, key) ?? []);
  }

  async put(collection: string, key: string, { value, version, expiresAt }: NewNote): Promise<boolean> {
    if (version !== null && version !== this.versionOf(collection, key)) return false;
    const kept = this.#collections.get(collection) ?? { rows: new Map<string, NoteRow>(), keys: [] };
    this.#collections.set(collection, kept);
    if (!kept.rows.has(key)) kept.keys.splice(placeOf(kept.keys, key), 0, key);
    this.#lastVersion += 1;
    kept.rows.set(key, { key, value, version: this.#lastVersion, expires_at: expiresAt });
    return true;
  }

  async remove(collection: string, key: string): Promise<boolean> {
    const kept = this.#collections.get(collection);
    if (!kept || this.#find(collection, key) === undefined) return false;
    drop(kept, key);
    return true;
  }

  async list(collection: string, after: string, limit: number): Promise<readonly NoteRow[]> {
    const { rows, keys } = this.#collections.get(collection) ?? NONE;
    const now = this.#now();
    const found: NoteRow[] = [];
    const first = placeOf(keys, after);
    for (
      let index = keys[first] === after ? first + 1 : first;
      index < keys.length && found.length < limit;
      index += 1
    ) {
      const row = rows.get(keys[index] as string) as NoteRow;
      if (isLive(row, now)) found.push(row);
    }
    return found;
  }

  #find(collection: string, key: string): NoteRow | undefined {
    const row = this.#collections.get(collection)?.rows.get(key);
    return row !== undefined && isLive(row, this.#now()) ? row : undefined;
  }

  async sweep(): Promise<void> {
    const now = this.#now();
    for (const [collection, kept] of this.#collections) {
      for (const [key, row] of kept.rows) if (!isLive(row, now)) drop(kept, key);
      if (kept.rows.size === 0) this.#collections.delete(collection);
    }
  }
}

const NONE: Collection = { rows: new Map(), keys: [] };

function drop({ rows, keys }: Collection, key: string): void {
  rows.delete(key);
  keys.splice(placeOf(keys, key), 1);
}

function isLive({ expires_at }: NoteRow, now: number): boolean {
  return expires_at === null || expires_at > now;
}

/** The index of the first key that does not come before this one. */
function placeOf(keys: readonly string[], key: string): number {
  let [from, to] = [0, keys.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (isBefore(keys[middle] as string, key)) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** As the databases compare them, by bytes: the order of UTF-16 differs where there are surrogates. */
function isBefore(a: string, b: string): boolean {
  return SURROGATE.test(a) || SURROGATE.test(b) ? Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0 : a < b;
}

const SURROGATE = /[\ud800-\udfff]/;
