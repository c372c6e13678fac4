// The tables of the Postgres store, as numbered steps that are only ever added to.
import { setTimeout as delay } from 'node:timers/promises';
import { newerTables } from '../sql/migrations.ts';
import { errorCode } from './failure.ts';
import { ask, type PostgresPool, retrySerialization, WITHOUT_LIMIT } from './pool.ts';
import { checkNumbers } from './sequences.ts';
import { checkSettings, SETTINGS_SQL } from './settings.ts';

/** The names of the tables, with the schema they are in. */
export type Tables = {
  readonly schema: string | undefined;
  readonly migration: string;
  readonly run: string;
  readonly due: string;
  readonly event: string;
  readonly interrupt: string;
  readonly label: string;
  readonly watcher: string;
  readonly note: string;
};

export function tablesIn(schema: string | undefined): Tables {
  const prefix = schema === undefined ? '' : `${quoted(schema)}.`;
  const table = (name: string): string => `${prefix}countersign_${name}`;
  return {
    schema,
    migration: table('migration'),
    run: table('run'),
    due: table('due'),
    event: table('event'),
    interrupt: table('interrupt'),
    label: table('label'),
    watcher: table('watcher'),
    note: table('note'),
  };
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Brings the tables up to date. Without rights to change tables that are up to date, nothing is changed. Throws if they
 * cannot be used all the same.
 * At a stricter isolation level than the default, who waited for the lock does not see what was done meanwhile, and
 * fails when doing it again. So after a failure it is looked whether somebody else got further.
 */
export async function migratePostgres(pool: PostgresPool, tables: Tables, stop: AbortSignal): Promise<void> {
  let version = await tablesVersion(pool, tables);
  while (version < MIGRATIONS.length) {
    try {
      await retrySerialization(() => ask(pool, migrationBlock(tables), [], WITHOUT_LIMIT));
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
  if (version > MIGRATIONS.length) throw newerTables('the database', version, MIGRATIONS.length);
  await checkNumbers(pool, tables);
}

/**
 * Whoever comes after one that waits for a table waits with it: after this time it lets them go first, has done nothing, and
 * comes again.
 */
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
    // There is no such table, or no such schema.
    if (errorCode(error) !== '42P01' && errorCode(error) !== '3F000') throw error;
    await asked(`SELECT ${SETTINGS_SQL}`);
    return 0;
  }
}

/**
 * One statement, so that any pool will do and all of it happens or nothing. Who comes second waits for the lock, and
 * then finds what there is to do, if anything. A newer version than ours ran in between: there is nothing to do.
 */
function migrationBlock(tables: Tables): string {
  const steps = MIGRATIONS.map(
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
      -- What is added is made where the rest is, which need not be the first schema of the search path.
      PERFORM set_config('search_path', relnamespace::regnamespace::text, true)
        FROM pg_class WHERE oid = to_regclass(${literal(tables.migration)});
      SELECT coalesce(max(version), 0) INTO reached FROM ${tables.migration};
    END IF;${steps.join('')}
  END`);
}

/** Whoever owns a schema may lack the right to make one, which is asked for also where it is there already. */
function schemaStep(schema: string): string {
  const name = quoted(schema);
  return `IF to_regnamespace(${literal(name)}) IS NULL THEN CREATE SCHEMA IF NOT EXISTS ${name}; END IF;`;
}

export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** The quotes around it must not be in it: a schema may have any name. */
export function doBlock(text: string): string {
  let quote = '$countersign$';
  while (text.includes(quote)) quote = quote.replace(/\$$/, '_$$');
  return `DO ${quote}${text} ${quote}`;
}

/** Any number that others are unlikely to take: the bytes of "countersg". */
const ADVISORY_LOCK = '7165065861927432051';

/**
 * Names are compared byte by byte. No index of the runs has a column that every append changes, and half of each page
 * stays free: unless a run begins or ceases to be due, a change touches neither an index nor another page. The columns
 * that change most often stand last, since only what is between the first and the last change goes to the log. Runs are
 * listed in the order of seq, in which they were created. No foreign keys: whatever refers to a run is written in the
 * same statement as its row.
 */
const MIGRATIONS: readonly ((tables: Tables) => string)[] = [
  ({ migration, run, due, event, interrupt, label, watcher }) => `
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

  -- The runs that have a due_at, in its order. It is not logged: after a crash it is empty, and made anew from the
  -- runs. So a row here says only where to look; the run has the last word.
  CREATE UNLOGGED TABLE ${due} (
    run_id text COLLATE "C" PRIMARY KEY,
    due_at bigint NOT NULL
  );
  CREATE INDEX countersign_due_list ON ${due} (due_at);

  -- One row for each append; version is that of the run after it. The interrupts that it opened, as a JSON array of
  -- ids, are here so that those of a run are found without an index of their own.
  CREATE TABLE ${event} (
    run_seq bigint NOT NULL,
    version integer NOT NULL,
    opened text,
    events text NOT NULL,
    PRIMARY KEY (run_seq, version)
  );

  CREATE TABLE ${interrupt} (
    seq bigint GENERATED ALWAYS AS IDENTITY,
    created_at bigint NOT NULL,
    expires_at bigint,
    remind_at bigint,
    id text COLLATE "C" NOT NULL CONSTRAINT countersign_interrupt_pkey PRIMARY KEY,
    run_id text COLLATE "C" NOT NULL,
    agent text COLLATE "C" NOT NULL,
    tool text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    risk text COLLATE "C",
    labels text[] COLLATE "C",
    digest text NOT NULL,
    card text NOT NULL,
    settled_at bigint,
    settlement text
  ) WITH (fillfactor = 50);
  CREATE INDEX countersign_interrupt_waiting ON ${interrupt} (created_at, seq) WHERE settled_at IS NULL;
  CREATE INDEX countersign_interrupt_settled ON ${interrupt} (created_at, seq) WHERE settled_at IS NOT NULL;

  -- The labels of the interrupts that wait, and of those that do not, each in the order of the lists.
  CREATE TABLE ${label} (
    label text COLLATE "C" NOT NULL,
    waiting boolean NOT NULL,
    created_at bigint NOT NULL,
    seq bigint NOT NULL,
    interrupt_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (label, waiting, created_at, seq)
  );

  -- The processes that watch, and until when they are believed to: only for them changes are announced.
  CREATE TABLE ${watcher} (
    id bigint PRIMARY KEY,
    until bigint NOT NULL
  );
  `,
  ({ run, interrupt, note }) => `
  -- Small records beside the runs. A version is never given again, also not to another note.
  CREATE TABLE ${note} (
    version bigint GENERATED ALWAYS AS IDENTITY,
    expires_at bigint,
    collection text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (collection, key)
  );
  CREATE INDEX countersign_note_expiry ON ${note} (expires_at) WHERE expires_at IS NOT NULL;

  -- Who started the run, so that lists need not look it up.
  ALTER TABLE ${interrupt} ADD COLUMN started_by text COLLATE "C";
  UPDATE ${interrupt} i SET started_by = r.started_by FROM ${run} r
    WHERE r.id = i.run_id AND r.started_by IS NOT NULL;
  `,
  ({ interrupt }) => `
  -- Reminders: when one is given again, how often it was, and when it was struck off. Questions without a reminder are
  -- not in the index, so that they cost nothing; what is null takes no place in a row.
  ALTER TABLE ${interrupt} ADD COLUMN reminder_due_at bigint, ADD COLUMN reminder_attempts integer,
    ADD COLUMN reminded_at bigint;
  CREATE INDEX countersign_interrupt_reminder ON ${interrupt} (coalesce(reminder_due_at, remind_at))
    WHERE remind_at IS NOT NULL AND reminded_at IS NULL AND settled_at IS NULL;
  `,
  ({ run }) => `
  -- The runs that have a due_at, in its order. To write this index costs less than the table that did the same; that is
  -- left, unused, for processes of the version before.
  CREATE INDEX countersign_run_due_at ON ${run} (due_at) WHERE due_at IS NOT NULL;
  `,
];
