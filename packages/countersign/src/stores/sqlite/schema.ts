// The tables of the SQLite store, as numbered migrations. Released migrations never change; new ones are added.
import type { DatabaseSync } from 'node:sqlite';
import { newerTables } from '../sql/migrations.ts';

/** Brings the tables up to date. To be called inside a transaction that holds the write lock. */
export function migrateSqlite(database: DatabaseSync, path: string, now: number, migrations = MIGRATIONS): void {
  const version = tablesVersion(database);
  if (version > migrations.length) throw newerTables(path, version, migrations.length);
  for (const [index, step] of migrations.entries()) {
    if (index < version) continue;
    database.exec(step);
    database.prepare('INSERT INTO countersign_migration (version, applied_at) VALUES (?, ?)').run(index + 1, now);
  }
}

/** True when there is nothing to migrate, found out without a lock. */
export function isMigratedSqlite(database: DatabaseSync): boolean {
  return tablesVersion(database) === MIGRATIONS.length;
}

function tablesVersion(database: DatabaseSync): number {
  const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'countersign_migration'");
  if (table.get() === undefined) return 0;
  const row = database.prepare('SELECT max(version) AS version FROM countersign_migration').get();
  return Number(row?.version ?? 0);
}

// A text that is not JSON would fail the whole statement.
const keysIn = (row: 'new' | 'old'): string =>
  `(SELECT value FROM json_each(CASE WHEN json_valid(${row}.deciders) THEN ${row}.deciders END))`;
const keysAdded = `INSERT OR IGNORE INTO countersign_decider (key, settled, created_at, seq)
    SELECT value, new.settled_at IS NOT NULL, new.created_at, new.seq FROM ${keysIn('new')};`;
const keysRemoved = `DELETE FROM countersign_decider WHERE key IN ${keysIn('old')}
    AND settled = (old.settled_at IS NOT NULL) AND created_at = old.created_at AND seq = old.seq;`;

// Most requests name nobody: theirs is one row, written without reading JSON. The starter of the run is a key as well.
const ANYONE = `'["*"]'`;
const STARTED = (row: string): string => `SELECT 's:' || ${row}.started_by WHERE ${row}.started_by IS NOT NULL`;
const rowsOf = (keys: string): string =>
  `INSERT OR IGNORE INTO countersign_decider (key, settled, created_at, seq)
    SELECT value, new.settled_at IS NOT NULL, new.created_at, new.seq FROM (SELECT NULL AS value WHERE FALSE UNION ALL ${keys});`;
const namesIn = (row: string): string =>
  `SELECT value FROM json_each(CASE WHEN json_valid(${row}.deciders) THEN ${row}.deciders END)`;
const rowsAt = `settled = (old.settled_at IS NOT NULL) AND created_at = old.created_at AND seq = old.seq`;
const namedRemoved = `DELETE FROM countersign_decider WHERE key IN (${namesIn('old')} UNION ALL ${STARTED('old')}) AND ${rowsAt};`;
const namedAdded = rowsOf(`${namesIn('new')} UNION ALL ${STARTED('new')}`);

const countPending = (row: 'new' | 'old', change: 1 | -1): string =>
  `INSERT INTO countersign_pending (tool, count) VALUES (${row}.tool, ${change})
    ON CONFLICT (tool) DO UPDATE SET count = count + ${change};
  ${change < 0 ? `DELETE FROM countersign_pending WHERE tool = ${row}.tool AND count = 0;` : ''}`;

/**
 * A transaction writes every page that it touches, so the store has only the indexes that it needs. Runs are listed in
 * the order of seq. Long columns come last: a query that does not need them need not read them.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE countersign_migration (
    version INTEGER PRIMARY KEY,
    applied_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE countersign_run (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    started_by TEXT,
    created_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    version INTEGER NOT NULL,
    hash TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    wake_at INTEGER,
    due_at INTEGER,
    claim_token TEXT,
    claim_until INTEGER,
    outcome TEXT NOT NULL
  ) STRICT;
  CREATE INDEX countersign_run_due ON countersign_run (due_at) WHERE due_at IS NOT NULL;

  -- One row for each append; version is that of the run after it.
  CREATE TABLE countersign_event (
    seq INTEGER PRIMARY KEY,
    run_seq INTEGER NOT NULL,
    version INTEGER NOT NULL,
    events TEXT NOT NULL,
    UNIQUE (run_seq, version)
  ) STRICT;

  -- search_text, outcome, edited and expired are derived from the card and the settlement when they are written.
  CREATE TABLE countersign_request (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    run_id TEXT NOT NULL,
    started_by TEXT,
    agent TEXT NOT NULL,
    tool TEXT NOT NULL,
    kind TEXT NOT NULL,
    risk TEXT,
    labels TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    deciders TEXT NOT NULL,
    settled_at INTEGER,
    outcome TEXT,
    edited INTEGER,
    expired INTEGER,
    digest TEXT NOT NULL,
    search_text TEXT,
    settlement TEXT,
    card TEXT NOT NULL
  ) STRICT;
  CREATE INDEX countersign_request_waiting ON countersign_request (created_at) WHERE settled_at IS NULL;
  CREATE INDEX countersign_request_settled ON countersign_request (created_at) WHERE settled_at IS NOT NULL;
  CREATE INDEX countersign_request_settled_at ON countersign_request (settled_at) WHERE settled_at IS NOT NULL;
  CREATE INDEX countersign_request_run ON countersign_request (run_id);

  -- The keys of each request, in the order of the lists. Triggers keep them.
  CREATE TABLE countersign_decider (
    key TEXT NOT NULL,
    settled INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (key, settled, created_at, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER countersign_decider_opened AFTER INSERT ON countersign_request BEGIN ${keysAdded} END;
  CREATE TRIGGER countersign_decider_changed AFTER UPDATE OF deciders, settled_at ON countersign_request
    BEGIN ${keysRemoved} ${keysAdded} END;
  CREATE TRIGGER countersign_decider_deleted AFTER DELETE ON countersign_request BEGIN ${keysRemoved} END;

  -- Small records beside the runs. Each write is a new row: its number is the version, and is never used twice.
  CREATE TABLE countersign_note (
    version INTEGER PRIMARY KEY AUTOINCREMENT,
    collection TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    expires_at INTEGER,
    UNIQUE (collection, key)
  ) STRICT;
  CREATE INDEX countersign_note_expiry ON countersign_note (expires_at) WHERE expires_at IS NOT NULL;
  `,
  'ALTER TABLE countersign_request ADD COLUMN progress TEXT',
  `
  -- Questions that people may not know of yet: how often each was marked, since when it can be taken, and how often it was.
  ALTER TABLE countersign_request ADD COLUMN news INTEGER;
  ALTER TABLE countersign_request ADD COLUMN tell_at INTEGER;
  ALTER TABLE countersign_request ADD COLUMN tell_attempts INTEGER;
  CREATE INDEX countersign_request_untold ON countersign_request (tell_at) WHERE tell_at IS NOT NULL;
  `,
  `
  -- The key of the person who started the run comes from its column, and is no longer among the deciders.
  DROP TRIGGER countersign_decider_opened;
  DROP TRIGGER countersign_decider_changed;
  DROP TRIGGER countersign_decider_deleted;
  UPDATE countersign_request SET deciders = (SELECT json_group_array(value) FROM json_each(deciders) WHERE value NOT LIKE 's:%')
    WHERE started_by IS NOT NULL AND json_valid(deciders);
  CREATE TRIGGER countersign_decider_anyone AFTER INSERT ON countersign_request WHEN new.deciders = ${ANYONE}
    BEGIN ${rowsOf(`SELECT '*' UNION ALL ${STARTED('new')}`)} END;
  CREATE TRIGGER countersign_decider_named AFTER INSERT ON countersign_request WHEN new.deciders <> ${ANYONE}
    BEGIN ${namedAdded} END;
  CREATE TRIGGER countersign_decider_settled AFTER UPDATE OF settled_at ON countersign_request
    WHEN old.deciders = ${ANYONE} AND new.deciders = ${ANYONE}
    BEGIN UPDATE countersign_decider SET settled = (new.settled_at IS NOT NULL)
      WHERE key IN ('*', 's:' || new.started_by) AND ${rowsAt}; END;
  CREATE TRIGGER countersign_decider_changed AFTER UPDATE OF deciders, settled_at ON countersign_request
    WHEN old.deciders <> ${ANYONE} OR new.deciders <> ${ANYONE}
    BEGIN ${namedRemoved} ${namedAdded} END;
  CREATE TRIGGER countersign_decider_deleted AFTER DELETE ON countersign_request BEGIN ${namedRemoved} END;
  `,
  `
  -- How many requests of a tool are pending. Triggers keep it.
  CREATE TABLE countersign_pending (tool TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO countersign_pending (tool, count)
    SELECT tool, count(*) FROM countersign_request WHERE settled_at IS NULL GROUP BY tool;
  CREATE TRIGGER countersign_pending_opened AFTER INSERT ON countersign_request WHEN new.settled_at IS NULL
    BEGIN ${countPending('new', 1)} END;
  CREATE TRIGGER countersign_pending_settled AFTER UPDATE OF settled_at ON countersign_request
    WHEN old.settled_at IS NULL AND new.settled_at IS NOT NULL BEGIN ${countPending('old', -1)} END;
  CREATE TRIGGER countersign_pending_deleted AFTER DELETE ON countersign_request WHEN old.settled_at IS NULL
    BEGIN ${countPending('old', -1)} END;
  `,
  `
  -- What came of the call: its state, and all of it as JSON.
  ALTER TABLE countersign_request ADD COLUMN ended TEXT;
  ALTER TABLE countersign_request ADD COLUMN ending TEXT;
  CREATE INDEX countersign_request_bad ON countersign_request (created_at) WHERE ended IN ('failed', 'unknown');
  `,
];
