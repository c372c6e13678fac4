// The tables of the Postgres store, as numbered migrations. Released migrations never change; new ones are added.
import { setTimeout as delay } from 'node:timers/promises';
import { FREEZES } from '../../runs/port/store.ts';
import { newerTables } from '../sql/migrations.ts';
import { NOW } from './expressions.ts';
import { errorCode } from './failure.ts';
import { ask, type PostgresPool, retrySerialization, WITHOUT_LIMIT } from './pool.ts';
import { checkSequences } from './sequences.ts';
import { checkSettings, SETTINGS_SQL } from './settings.ts';

/** The names of the tables, with the schema they are in. */
export type Tables = {
  readonly schema: string | undefined;
  readonly migration: string;
  readonly run: string;
  readonly event: string;
  readonly request: string;
  readonly decider: string;
  readonly pending: string;
  readonly watcher: string;
  readonly note: string;
};

/** The SQL of one step from a version of the tables to the next. */
export type Migration = (tables: Tables) => string;

export function tablesIn(schema: string | undefined): Tables {
  const prefix = schema === undefined ? '' : `${quoted(schema)}.`;
  const table = (name: string): string => `${prefix}countersign_${name}`;
  return {
    schema,
    migration: table('migration'),
    run: table('run'),
    event: table('event'),
    request: table('request'),
    decider: table('decider'),
    pending: table('pending'),
    watcher: table('watcher'),
    note: table('note'),
  };
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Brings the tables up to date, and throws if they cannot be used. Needs no rights to change tables that are up to date.
 * At a strict isolation level, a process that waited for the lock does not see what another one migrated meanwhile, and
 * fails. So after a failure it checks whether the version has moved.
 */
export async function migratePostgres(
  pool: PostgresPool,
  tables: Tables,
  stop: AbortSignal,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  let version = await tablesVersion(pool, tables);
  while (version < migrations.length) {
    try {
      await retrySerialization(() => ask(pool, migrationBlock(tables, migrations), [], WITHOUT_LIMIT));
      break;
    } catch (error) {
      const before = version;
      version = await tablesVersion(pool, tables);
      if (version !== before) continue;
      if (errorCode(error) !== LOCK_NOT_AVAILABLE) throw error;
      stop.throwIfAborted();
      await delay(STEP_ASIDE_MS);
    }
  }
  if (version > migrations.length) throw newerTables('the database', version, migrations.length);
  await checkSequences(pool, tables);
}

/** A migration that waits for a table blocks all later queries. After this time it steps aside, and tries again later. */
const LOCK_MS = 2_000;
const STEP_ASIDE_MS = 2_000;
const LOCK_NOT_AVAILABLE = '55P03';

/** Throws if the settings of the database do not fit. */
async function tablesVersion(pool: PostgresPool, { migration }: Tables): Promise<number> {
  const asked = async (text: string): Promise<any> => {
    const { rows } = await retrySerialization(() => ask(pool, text, []));
    checkSettings(rows[0]);
    return rows[0];
  };
  try {
    return (await asked(`SELECT max(version)::int AS version, ${SETTINGS_SQL} FROM ${migration}`)).version ?? 0;
  } catch (error) {
    // The table or the schema does not exist.
    if (errorCode(error) !== '42P01' && errorCode(error) !== '3F000') throw error;
    await asked(`SELECT ${SETTINGS_SQL}`);
    return 0;
  }
}

/**
 * One statement, so that it works on any pool and is all or nothing. A second process waits for the lock, then runs the
 * remaining migrations.
 */
function migrationBlock(tables: Tables, migrations: readonly Migration[]): string {
  const steps = migrations.map(
    (step, index) => `
    IF reached < ${index + 1} THEN
      ${step(tables)}
      INSERT INTO ${tables.migration} (version) VALUES (${index + 1});
    END IF;`,
  );
  return doBlock(`
  DECLARE reached integer := 0;
  BEGIN
    PERFORM pg_advisory_xact_lock(${ADVISORY_LOCK});
    IF current_setting('lock_timeout') = '0' THEN PERFORM set_config('lock_timeout', '${LOCK_MS}ms', true); END IF;
    ${tables.schema === undefined ? '' : schemaStep(tables.schema)}
    IF to_regclass(${literal(tables.migration)}) IS NOT NULL THEN
      -- New tables go where the others are, which may not be the first schema of the search path.
      PERFORM set_config('search_path', relnamespace::regnamespace::text, true)
        FROM pg_class WHERE oid = to_regclass(${literal(tables.migration)});
      SELECT coalesce(max(version), 0) INTO reached FROM ${tables.migration};
    END IF;${steps.join('')}
  END`);
}

/** `CREATE SCHEMA IF NOT EXISTS` needs the right to create schemas even if the schema exists. */
function schemaStep(schema: string): string {
  const name = quoted(schema);
  return `IF to_regnamespace(${literal(name)}) IS NULL THEN CREATE SCHEMA IF NOT EXISTS ${name}; END IF;`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Picks a quote that is not in the text: a schema may have any name. */
function doBlock(text: string): string {
  let quote = '$countersign$';
  while (text.includes(quote)) quote = quote.replace(/\$$/, '_$$');
  return `DO ${quote}${text} ${quote}`;
}

/** A number that others are unlikely to use: the bytes of "countersg". */
const ADVISORY_LOCK = '7165065861927432051';

/**
 * Names are compared byte by byte. No index of the runs has a column that every append changes, and half of each page
 * stays free: unless a run becomes due or stops being due, a change touches neither an index nor another page. The columns
 * that change most often come last, since the log gets only what lies between the first and the last change. Runs are
 * listed in the order of seq. No foreign keys: whatever refers to a run is written in the same statement as its row.
 */
export const MIGRATIONS: readonly Migration[] = [
  ({ migration, run, event, request, watcher, note }) => `
  CREATE TABLE ${migration} (
    version integer PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
  );

  CREATE TABLE ${run} (
    seq bigint GENERATED ALWAYS AS IDENTITY,
    created_at bigint NOT NULL,
    id text COLLATE "C" NOT NULL CONSTRAINT countersign_run_pkey PRIMARY KEY,
    agent text COLLATE "C" NOT NULL,
    started_by text COLLATE "C",
    status text COLLATE "C" NOT NULL,
    outcome text NOT NULL,
    claim_token text COLLATE "C",
    due_at bigint,
    wake_at bigint,
    claim_until bigint,
    updated_at bigint NOT NULL,
    version integer NOT NULL,
    hash text COLLATE "C" NOT NULL
  ) WITH (fillfactor = 50);
  CREATE INDEX countersign_run_list ON ${run} (seq);
  CREATE INDEX countersign_run_due_at ON ${run} (due_at) WHERE due_at IS NOT NULL;

  -- One row for each append; version is that of the run after it. The ids of the requests that it opened are here, so
  -- that those of a run are found without another index.
  CREATE TABLE ${event} (
    run_seq bigint NOT NULL,
    version integer NOT NULL,
    opened text[] COLLATE "C",
    events text NOT NULL,
    PRIMARY KEY (run_seq, version)
  );

  -- search_text, outcome, edited and expired are derived from the card and the settlement when they are written.
  CREATE TABLE ${request} (
    seq bigint GENERATED ALWAYS AS IDENTITY,
    created_at bigint NOT NULL,
    expires_at bigint,
    id text COLLATE "C" NOT NULL CONSTRAINT countersign_request_pkey PRIMARY KEY,
    run_id text COLLATE "C" NOT NULL,
    started_by text COLLATE "C",
    agent text COLLATE "C" NOT NULL,
    tool text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    risk text COLLATE "C",
    labels text[] COLLATE "C",
    deciders text[] COLLATE "C" NOT NULL,
    search_text text COLLATE "C",
    digest text NOT NULL,
    card text NOT NULL,
    settled_at bigint,
    edited smallint,
    expired smallint,
    outcome text COLLATE "C",
    settlement text
  ) WITH (fillfactor = 50);
  CREATE INDEX countersign_request_waiting ON ${request} (created_at, seq) WHERE settled_at IS NULL;
  CREATE INDEX countersign_request_settled ON ${request} (created_at, seq) WHERE settled_at IS NOT NULL;
  CREATE INDEX countersign_request_settled_at ON ${request} (settled_at) WHERE settled_at IS NOT NULL;
  CREATE INDEX countersign_request_decider ON ${request} USING gin (deciders)
    WITH (gin_pending_list_limit = 64);

  -- The processes that watch, and until when: changes are announced only while there are any.
  CREATE TABLE ${watcher} (
    id bigint PRIMARY KEY,
    until bigint NOT NULL
  );

  -- Small records beside the runs. A version is never used twice, not even by another note.
  CREATE TABLE ${note} (
    version bigint GENERATED ALWAYS AS IDENTITY,
    expires_at bigint,
    collection text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (collection, key)
  );
  CREATE INDEX countersign_note_expiry ON ${note} (expires_at) WHERE expires_at IS NOT NULL;
  `,
  ({ request }) => `ALTER TABLE ${request} ADD COLUMN progress text;`,
  // Requests that people may not know of yet: how often each was marked, since when it can be taken, and how often it was.
  // The defaults come later, so that rows from before have no mark. With them, processes of earlier versions mark too.
  ({ request }) => `
  ALTER TABLE ${request} ADD COLUMN tell_attempts integer, ADD COLUMN news integer, ADD COLUMN tell_at bigint;
  ALTER TABLE ${request} ALTER COLUMN news SET DEFAULT 1, ALTER COLUMN tell_at SET DEFAULT ${NOW};
  CREATE INDEX countersign_request_untold ON ${request} (tell_at) WHERE tell_at IS NOT NULL;
  `,
  // The keys of each request in the order of the lists, and how many requests of a tool are pending. Triggers keep both. The
  // counts are changes to be summed up, so that no two appends wait for the same row; who reads them puts them together.
  ({ request, decider, pending, schema }) => `
  CREATE TABLE ${decider} (
    settled boolean NOT NULL,
    created_at bigint NOT NULL,
    seq bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    PRIMARY KEY (key, settled, created_at, seq)
  );
  CREATE TABLE ${pending} (change integer NOT NULL, tool text COLLATE "C" NOT NULL);
  INSERT INTO ${decider} (key, settled, created_at, seq)
    SELECT DISTINCT unnest(deciders), settled_at IS NOT NULL, created_at, seq FROM ${request};
  INSERT INTO ${pending} (change, tool) SELECT count(*), tool FROM ${request} WHERE settled_at IS NULL GROUP BY tool;
  DROP INDEX ${inSchema(schema, 'countersign_request_decider')};

  CREATE FUNCTION ${inSchema(schema, 'countersign_request_keys')}() RETURNS trigger LANGUAGE plpgsql AS $keys$
  BEGIN
    IF TG_OP <> 'INSERT' THEN
      DELETE FROM ${decider} WHERE key = ANY (OLD.deciders) AND settled = (OLD.settled_at IS NOT NULL)
        AND created_at = OLD.created_at AND seq = OLD.seq;
      IF OLD.settled_at IS NULL THEN INSERT INTO ${pending} (change, tool) VALUES (-1, OLD.tool); END IF;
    END IF;
    IF TG_OP <> 'DELETE' THEN
      INSERT INTO ${decider} (key, settled, created_at, seq)
        SELECT key, NEW.settled_at IS NOT NULL, NEW.created_at, NEW.seq FROM unnest(NEW.deciders) key
        ON CONFLICT DO NOTHING;
      IF NEW.settled_at IS NULL THEN INSERT INTO ${pending} (change, tool) VALUES (1, NEW.tool); END IF;
    END IF;
    RETURN NULL;
  END $keys$;
  CREATE TRIGGER countersign_request_added AFTER INSERT OR DELETE ON ${request}
    FOR EACH ROW EXECUTE FUNCTION ${inSchema(schema, 'countersign_request_keys')}();
  CREATE TRIGGER countersign_request_changed AFTER UPDATE OF deciders, settled_at ON ${request} FOR EACH ROW
    WHEN (OLD.deciders <> NEW.deciders OR (OLD.settled_at IS NULL) <> (NEW.settled_at IS NULL))
    EXECUTE FUNCTION ${inSchema(schema, 'countersign_request_keys')}();
  `,
  // What came of the call: its state, and all of it as JSON.
  ({ request }) => `
  ALTER TABLE ${request} ADD COLUMN ended text, ADD COLUMN ending text;
  CREATE INDEX countersign_request_bad ON ${request} (created_at, seq) WHERE ended IN ('failed', 'unknown');
  `,
  // The note of what is frozen, which every start locks: it must exist before the first freeze.
  ({ note }) => `
  INSERT INTO ${note} (collection, key, value) VALUES ('${FREEZES[0]}', '${FREEZES[1]}', 'null') ON CONFLICT DO NOTHING;
  `,
];

/** The name of an index or a function, in the schema of the tables. */
function inSchema(schema: string | undefined, name: string): string {
  return schema === undefined ? name : `${quoted(schema)}.${name}`;
}
