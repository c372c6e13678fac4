// How much a store holds: bytes on the disk, and rows by table. A deleted run leaves small rows (one on PostgreSQL, two on
// SQLite), so that its id cannot be used again: `deleted` counts such runs, `rows` leaves their rows out, and `bytes` the tables with them.
import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';

/**
 * Notes such as the log of deliveries are kept for days: brings the end of those up to `version` forward to now. Returns the
 * newest version.
 */
export async function ageNotes(place, version = 0) {
  const age = `UPDATE countersign_note SET expires_at = ${Date.now()} WHERE expires_at IS NOT NULL AND version <= ${version}`;
  const newest = 'SELECT max(version) AS version FROM countersign_note';
  if (!place.startsWith('postgres:')) {
    const database = new DatabaseSync(place, { timeout: 10_000 });
    try {
      database.exec(age);
      return Number(database.prepare(newest).get().version);
    } finally {
      database.close();
    }
  }
  const client = new pg.Client(place);
  await client.connect();
  try {
    await client.query(age);
    return Number((await client.query(newest)).rows[0].version);
  } finally {
    await client.end();
  }
}

const DELETED = "SELECT count(*) AS count FROM countersign_run WHERE status = 'deleted'";

export async function tableSizes(place) {
  const isPostgres = place.startsWith('postgres:');
  const { bytes, tables, deleted } = isPostgres ? await ofPostgres(place) : ofSqlite(place);
  const rows = Object.values(tables).reduce((sum, count) => sum + count, 0);
  return { bytes, rows: rows - (isPostgres ? 1 : 2) * deleted, tables, deleted };
}

function ofSqlite(path) {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const names = database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'countersign%'")
      .all();
    const tables = {};
    for (const { name } of names) {
      if (/_fts|_words_|_search_/.test(name)) continue;
      tables[name] = Number(database.prepare(`SELECT count(*) AS count FROM "${name}"`).get().count);
    }
    const pages = `SELECT sum(pgsize) AS bytes FROM dbstat WHERE name NOT IN
      (SELECT name FROM sqlite_schema WHERE tbl_name IN ('countersign_run', 'countersign_event'))`;
    const log = existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0;
    return {
      bytes: Number(database.prepare(pages).get().bytes) + log,
      tables,
      deleted: Number(database.prepare(DELETED).get().count),
    };
  } finally {
    database.close();
  }
}

async function ofPostgres(url) {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows } = await client.query(
      "SELECT relname AS name, pg_total_relation_size(oid)::float8 AS bytes FROM pg_class WHERE relkind = 'r' AND relname LIKE 'countersign%'",
    );
    const tables = {};
    for (const { name } of rows)
      tables[name] = Number((await client.query(`SELECT count(*) AS count FROM ${name}`)).rows[0].count);
    const deleted = Number((await client.query(DELETED)).rows[0].count);
    const kept = rows.filter(({ name }) => name !== 'countersign_run');
    return { bytes: kept.reduce((sum, row) => sum + row.bytes, 0), tables, deleted };
  } finally {
    await client.end();
  }
}
