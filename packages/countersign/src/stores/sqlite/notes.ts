// Notes in a SQLite file. A write is a row of its own number, which is its version.
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
  SWEEP_MOST,
} from '../rules/notes.ts';
import { readLimit } from '../rules/page.ts';
import type { SqliteConnection } from './connection.ts';

export class SqliteNotes implements Notes {
  readonly #connection: SqliteConnection;
  readonly #now: () => number;
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(connection: SqliteConnection, now: () => number) {
    this.#connection = connection;
    this.#now = now;
  }

  async get(collection: string, key: string): Promise<Note | undefined> {
    checkCollection(collection);
    checkKey(key);
    const row = await this.#connection.read((prepare) => prepare(GET).get(collection, key, this.#now()));
    return row === undefined ? undefined : noteOf(row as NoteRow);
  }

  async put(collection: string, key: string, value: Json, options?: PutOptions): Promise<boolean> {
    checkCollection(collection);
    checkKey(key);
    const note = encodeNote(value, options);
    return this.#connection.write((prepare) => {
      const now = this.#now();
      const before = prepare(GET).get(collection, key, now) as NoteRow | undefined;
      if (note.version !== null && note.version !== (before?.version ?? 0)) return false;
      prepare(PUT).get(collection, key, note.value, note.expiresAt);
      if (now >= this.#sweptAt + SWEEP_EVERY_MS) {
        this.#sweptAt = now;
        prepare(SWEEP).get(now, SWEEP_MOST);
      }
      return true;
    });
  }

  async remove(collection: string, key: string): Promise<boolean> {
    checkCollection(collection);
    checkKey(key);
    return this.#connection.write((prepare) => prepare(REMOVE).get(collection, key, this.#now()) !== undefined);
  }

  async getMany(collection: string, keys: readonly string[]): Promise<readonly Note[]> {
    checkCollection(collection);
    for (const key of keys) checkKey(key);
    if (keys.length === 0) return [];
    const asked = JSON.stringify(keys);
    const rows = await this.#connection.read((prepare) => prepare(GET_MANY).all(collection, asked, this.#now()));
    return inOrder(keys, rows as unknown as readonly NoteRow[]);
  }

  async list(
    collection: string,
    { after = '', limit }: { readonly after?: string; readonly limit: number },
  ): Promise<Page<Note>> {
    checkCollection(collection);
    readLimit(limit);
    const rows = await this.#connection.read((prepare) => prepare(LIST).all(collection, after, this.#now(), limit + 1));
    return pageOfNotes(rows as unknown as readonly NoteRow[], limit);
  }
}

const NOTE = 'key, value, version, expires_at';

const LIVE = '(expires_at IS NULL OR expires_at > ?)';

const GET = `SELECT ${NOTE} FROM countersign_note WHERE collection = ? AND key = ? AND ${LIVE}`;

const GET_MANY = `SELECT ${NOTE} FROM countersign_note
  WHERE collection = ? AND key IN (SELECT value FROM json_each(?)) AND ${LIVE}`;

const LIST = `SELECT ${NOTE} FROM countersign_note WHERE collection = ? AND key > ? AND ${LIVE} ORDER BY key LIMIT ?`;

/** The row of before goes, and its number is never given again. */
const PUT = 'INSERT OR REPLACE INTO countersign_note (collection, key, value, expires_at) VALUES (?, ?, ?, ?)';

const REMOVE = `DELETE FROM countersign_note WHERE collection = ? AND key = ? AND ${LIVE} RETURNING version`;

const SWEEP = `DELETE FROM countersign_note WHERE version IN (
    SELECT version FROM countersign_note WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`;
