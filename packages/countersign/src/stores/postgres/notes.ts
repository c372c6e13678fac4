// Notes in PostgreSQL, each call one statement.
import type { Json } from '../../core/json.ts';
import type { Note, Notes, PutOptions } from '../../runs/port/notes.ts';
import type { Page } from '../../runs/port/store.ts';
import {
  checkCollection,
  checkKey,
  encodeNote,
  inOrder,
  noteOf,
  pageOfNotes,
  SWEEP_EVERY_MS,
  SWEEP_MOST,
} from '../rules/notes.ts';
import { readLimit } from '../rules/page.ts';
import { NOW } from './conditions.ts';
import { type Statement, statement } from './pool.ts';
import type { Tables } from './schema.ts';

type Rows = (statement: Statement, values: unknown[]) => Promise<readonly any[]>;

export class PostgresNotes implements Notes {
  readonly #rows: Rows;
  readonly #sql: ReturnType<typeof noteStatements>;
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(rows: Rows, tables: Tables) {
    this.#rows = rows;
    this.#sql = noteStatements(tables);
  }

  async get(collection: string, key: string): Promise<Note | undefined> {
    checkCollection(collection);
    checkKey(key);
    const [row] = await this.#rows(this.#sql.get, [collection, key]);
    return row === undefined ? undefined : noteOf(row);
  }

  async put(collection: string, key: string, value: Json, options?: PutOptions): Promise<boolean> {
    checkCollection(collection);
    checkKey(key);
    const note = encodeNote(value, options);
    await this.#sweep();
    const write = note.version === null || note.version === 0 ? this.#sql.add : this.#sql.change;
    const rows = await this.#rows(write, [collection, key, note.value, note.expiresAt, note.version]);
    return rows.length > 0;
  }

  async remove(collection: string, key: string): Promise<boolean> {
    checkCollection(collection);
    checkKey(key);
    return (await this.#rows(this.#sql.remove, [collection, key])).length > 0;
  }

  async getMany(collection: string, keys: readonly string[]): Promise<readonly Note[]> {
    checkCollection(collection);
    for (const key of keys) checkKey(key);
    if (keys.length === 0) return [];
    const [only, second] = keys;
    const rows =
      second === undefined
        ? await this.#rows(this.#sql.get, [collection, only])
        : await this.#rows(this.#sql.getMany, [collection, keys]);
    return inOrder(keys, rows);
  }

  async list(
    collection: string,
    { after = '', limit }: { readonly after?: string; readonly limit: number },
  ): Promise<Page<Note>> {
    checkCollection(collection);
    readLimit(limit);
    return pageOfNotes(await this.#rows(this.#sql.list, [collection, after, limit + 1]), limit);
  }

  /** By the clock of this process, since it is only about how often. */
  async #sweep(): Promise<void> {
    const now = performance.now();
    if (now < this.#sweptAt + SWEEP_EVERY_MS) return;
    this.#sweptAt = now;
    await this.#rows(this.#sql.sweep, [SWEEP_MOST]);
  }
}

const NOTE = 'n.key, n.value, n.version::float8 AS version, n.expires_at::float8 AS expires_at';

const LIVE = `(n.expires_at IS NULL OR n.expires_at > ${NOW})`;

function noteStatements({ note }: Tables) {
  return {
    get: statement(`SELECT ${NOTE} FROM ${note} n WHERE n.collection = $1 AND n.key = $2 AND ${LIVE}`),
    getMany: statement(`SELECT ${NOTE} FROM ${note} n
      WHERE n.collection = $1 AND n.key = ANY($2::text[]) AND ${LIVE}`),
    list: statement(`SELECT ${NOTE} FROM ${note} n WHERE n.collection = $1 AND n.key > $2 AND ${LIVE}
      ORDER BY n.key LIMIT $3`),
    /** Where there is one already, only if any version will do, or if it has expired. */
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
