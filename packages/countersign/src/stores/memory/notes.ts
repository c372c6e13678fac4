// Notes in the memory of this process.
import type { Json } from '../../core/json.ts';
import type { Note, Notes, PutOptions } from '../../runs/port/notes.ts';
import type { Page } from '../../runs/port/store.ts';
import {
  checkCollection,
  checkKey,
  encodeNote,
  inOrder,
  type NoteRow,
  noteOf,
  pageOfNotes,
  SWEEP_EVERY_MS,
} from '../rules/notes.ts';
import { readLimit } from '../rules/page.ts';

export class MemoryNotes implements Notes {
  readonly #now: () => number;
  readonly #collections = new Map<string, Map<string, NoteRow>>();
  #lastVersion = 0;
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(now: () => number) {
    this.#now = now;
  }

  async get(collection: string, key: string): Promise<Note | undefined> {
    const row = this.#find(collection, key);
    return row === undefined ? undefined : noteOf(row);
  }

  async put(collection: string, key: string, value: Json, options?: PutOptions): Promise<boolean> {
    const note = encodeNote(value, options);
    const before = this.#find(collection, key);
    if (note.version !== null && note.version !== (before?.version ?? 0)) return false;
    const kept = this.#collections.get(collection) ?? new Map<string, NoteRow>();
    this.#collections.set(collection, kept);
    this.#lastVersion += 1;
    kept.set(key, { key, value: note.value, version: this.#lastVersion, expires_at: note.expiresAt });
    this.#sweep();
    return true;
  }

  async remove(collection: string, key: string): Promise<boolean> {
    if (this.#find(collection, key) === undefined) return false;
    return this.#collections.get(collection)?.delete(key) ?? false;
  }

  async getMany(collection: string, keys: readonly string[]): Promise<readonly Note[]> {
    return inOrder(
      keys,
      keys.flatMap((key) => this.#find(collection, key) ?? []),
    );
  }

  async list(
    collection: string,
    { after, limit }: { readonly after?: string; readonly limit: number },
  ): Promise<Page<Note>> {
    readLimit(limit);
    checkCollection(collection);
    const now = this.#now();
    const rows = [...(this.#collections.get(collection)?.values() ?? [])].filter(
      (row) => isLive(row, now) && (after === undefined || byBytes(row.key, after) > 0),
    );
    rows.sort((a, b) => byBytes(a.key, b.key));
    return pageOfNotes(rows, limit);
  }

  /** Undefined if it has expired. */
  #find(collection: string, key: string): NoteRow | undefined {
    checkCollection(collection);
    checkKey(key);
    const row = this.#collections.get(collection)?.get(key);
    return row !== undefined && isLive(row, this.#now()) ? row : undefined;
  }

  #sweep(): void {
    const now = this.#now();
    if (now < this.#sweptAt + SWEEP_EVERY_MS) return;
    this.#sweptAt = now;
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
