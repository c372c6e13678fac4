// The rows of notes in a SQLite file. Each write is a new row, and its number is the version.
import type { NewNote, NoteRow, NoteRows } from '../rules/notes.ts';
import type { SqliteConnection } from './connection.ts';

export class SqliteNotes implements NoteRows {
  readonly #connection: SqliteConnection;
  readonly #now: () => number;

  constructor(connection: SqliteConnection, now: () => number) {
    this.#connection = connection;
    this.#now = now;
  }

  async get(collection: string, keys: readonly string[]): Promise<readonly NoteRow[]> {
    const list = JSON.stringify(keys);
    const rows = await this.#connection.read((prepare) => prepare(GET).all(collection, list, this.#now()));
    return rows as unknown as readonly NoteRow[];
  }

  async put(collection: string, key: string, { value, version, expiresAt }: NewNote): Promise<boolean> {
    return this.#connection.write(
      (prepare) => prepare(PUT).get({ collection, key, value, expiresAt, version, now: this.#now() }) !== undefined,
    );
  }

  async remove(collection: string, key: string): Promise<boolean> {
    return this.#connection.write((prepare) => prepare(REMOVE).get(collection, key, this.#now()) !== undefined);
  }

  async list(collection: string, after: string, limit: number): Promise<readonly NoteRow[]> {
    const rows = await this.#connection.read((prepare) => prepare(LIST).all(collection, after, this.#now(), limit));
    return rows as unknown as readonly NoteRow[];
  }

  async sweep(limit: number): Promise<void> {
    await this.#connection.write((prepare) => prepare(SWEEP).get(this.#now(), limit));
  }
}

const NOTE = 'key, value, version, expires_at';

const LIVE = '(expires_at IS NULL OR expires_at > ?)';

const GET = `SELECT ${NOTE} FROM countersign_note
  WHERE collection = ? AND key IN (SELECT value FROM json_each(?)) AND ${LIVE}`;

const LIST = `SELECT ${NOTE} FROM countersign_note WHERE collection = ? AND key > ? AND ${LIVE} ORDER BY key LIMIT ?`;

/** Replaces the old row, whose number is never used again. */
const PUT = `INSERT OR REPLACE INTO countersign_note (collection, key, value, expires_at) SELECT :collection, :key, :value, :expiresAt
  WHERE :version IS NULL OR :version = coalesce((
    SELECT version FROM countersign_note WHERE collection = :collection AND key = :key AND (expires_at IS NULL OR expires_at > :now)
  ), 0) RETURNING version`;

const REMOVE = `DELETE FROM countersign_note WHERE collection = ? AND key = ? AND ${LIVE} RETURNING version`;

const SWEEP = `DELETE FROM countersign_note WHERE version IN (
    SELECT version FROM countersign_note WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`;
