// The rows of notes in PostgreSQL, each call one statement.
import type { NewNote, NoteRow, NoteRows } from '../rules/notes.ts';
import { NOW } from './expressions.ts';
import { type Statement, statement } from './pool.ts';
import type { Tables } from './schema.ts';

type Rows = (statement: Statement, values: unknown[]) => Promise<readonly any[]>;

export class PostgresNotes implements NoteRows {
  readonly #rows: Rows;
  readonly #sql: ReturnType<typeof noteStatements>;

  constructor(rows: Rows, tables: Tables) {
    this.#rows = rows;
    this.#sql = noteStatements(tables);
  }

  get(collection: string, keys: readonly string[]): Promise<readonly NoteRow[]> {
    return this.#rows(this.#sql.get, [collection, keys]);
  }

  async put(collection: string, key: string, { value, version, expiresAt }: NewNote): Promise<boolean> {
    const write = version === null || version === 0 ? this.#sql.add : this.#sql.change;
    return (await this.#rows(write, [collection, key, value, expiresAt, version])).length > 0;
  }

  async remove(collection: string, key: string): Promise<boolean> {
    return (await this.#rows(this.#sql.remove, [collection, key])).length > 0;
  }

  list(collection: string, after: string, limit: number): Promise<readonly NoteRow[]> {
    return this.#rows(this.#sql.list, [collection, after, limit]);
  }

  async sweep(limit: number): Promise<void> {
    await this.#rows(this.#sql.sweep, [limit]);
  }
}

const NOTE = 'n.key, n.value, n.version::float8 AS version, n.expires_at::float8 AS expires_at';

const LIVE = `(n.expires_at IS NULL OR n.expires_at > ${NOW})`;

function noteStatements({ note }: Tables) {
  return {
    get: statement(`SELECT ${NOTE} FROM ${note} n
      WHERE n.collection = $1 AND n.key = ANY($2::text[]) AND ${LIVE}`),
    list: statement(`SELECT ${NOTE} FROM ${note} n WHERE n.collection = $1 AND n.key > $2 AND ${LIVE}
      ORDER BY n.key LIMIT $3`),
    /** Overwrites a note only if any version may be overwritten, or if it has expired. */
    add: statement(`INSERT INTO ${note} AS n (collection, key, value, expires_at)
      VALUES ($1, $2, $3, $4::bigint)
      ON CONFLICT (collection, key) DO UPDATE
        SET value = excluded.value, version = DEFAULT, expires_at = excluded.expires_at
        WHERE $5::bigint IS NULL OR NOT ${LIVE}
      RETURNING 1`),
    change: statement(`UPDATE ${note} n SET value = $3, version = DEFAULT, expires_at = $4::bigint
      WHERE n.collection = $1 AND n.key = $2 AND n.version = $5::bigint AND ${LIVE} RETURNING 1`),
    remove: statement(`DELETE FROM ${note} n WHERE n.collection = $1 AND n.key = $2 AND ${LIVE} RETURNING 1`),
    sweep: statement(`DELETE FROM ${note} WHERE ctid = ANY(ARRAY(
      SELECT n.ctid FROM ${note} n WHERE n.expires_at <= ${NOW}
      ORDER BY n.expires_at LIMIT $1 FOR UPDATE SKIP LOCKED))`),
  };
}
