// What searching on PostgreSQL needs, made beside the tables when it is asked for: a function that finds the words of a
// question, and indexes of the questions by their words, by who started their run, and by when they were settled.
import { setTimeout as delay } from 'node:timers/promises';
import { untilAborted } from '../../models/abort.ts';
import { errorCode } from './failure.ts';
import { ask, type PostgresClient, type PostgresPool, WITHOUT_LIMIT } from './pool.ts';
import { doBlock, literal, quoted, type Tables } from './schema.ts';

/** The words of a question, given how its columns are called. */
export function wordsOf(tables: Tables, prefix = ''): string {
  return `${inSchema(tables, WORDS)}(${PARAMETERS.map(([column]) => `${prefix}${column}`).join(', ')})`;
}

/** Answers with one row, `prepared`. */
export function searchPreparedSql(tables: Tables): string {
  const names = indexesOf(tables).map(({ name }) => `'${name}'`);
  return `SELECT count(*) = ${names.length} AS prepared FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
    WHERE x.indrelid = ${literal(tables.interrupt)}::regclass AND ${isUsable(tables)}
      AND c.relname IN (${names.join(', ')})`;
}

/** Of the index `x`, which is `c`: it is whole, and if it has words, then those that this version looks for. */
function isUsable(tables: Tables): string {
  const made = `to_regprocedure(${literal(`${inSchema(tables, WORDS)}(${PARAMETERS.map(([, type]) => type).join(', ')})`)})`;
  return `x.indisvalid AND (c.relname <> '${WORDS_INDEX}' OR EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid
    AND d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_proc'::regclass AND d.refobjid = ${made}))`;
}

/**
 * Others read and write meanwhile, if the pool has connections to give. Told to stop, it leaves what is half made: the next
 * one makes it anew.
 */
export async function preparePostgresSearch(pool: PostgresPool, tables: Tables, stop: AbortSignal): Promise<void> {
  const isPrepared = async (): Promise<boolean> => {
    const { rows } = await ask(pool, searchPreparedSql(tables), []);
    return rows[0]?.prepared === true;
  };
  while (!(await isPrepared())) {
    if (hasEnough(pool) && (await oneByOne(pool, tables, stop))) return;
    try {
      return void (await ask(pool, allAtOnce(tables), [], WITHOUT_LIMIT));
    } catch (error) {
      if (errorCode(error) !== BEING_MADE) throw error;
    }
    stop.throwIfAborted();
    await delay(TRY_AGAIN_MS);
  }
}

/** For the two that are held until all is made, one that listens, and one for everybody else. */
const ENOUGH = 4;

function hasEnough(pool: PostgresPool): boolean {
  const { max = ENOUGH } = (pool as { readonly options?: { readonly max?: number } }).options ?? {};
  return max >= ENOUGH;
}

/** What our own statement says when another has the lock: any SQLSTATE that the server does not have. */
const BEING_MADE = 'CS001';

/** Any number that others are unlikely to take: the bytes of "countersr". */
const ADVISORY_LOCK = '7165065861927432050';

const TRY_AGAIN_MS = 100;
/** For how long a second connection is waited for: whoever has it may wait for us. */
const SECOND_MS = 2_000;

/**
 * Without a transaction, since nobody shall wait for it. Two that do this at once would wait for each other in a circle; so
 * the lock is held meanwhile, on another connection: what is held beyond a transaction gets lost behind a pooler. False if
 * that cannot be, and nothing was made.
 */
async function oneByOne(pool: PostgresPool, tables: Tables, stop: AbortSignal): Promise<boolean> {
  const holder = await pool.connect?.();
  const maker = holder && (await second(pool));
  try {
    if (!holder || !maker) return false;
    // Lost between two statements, they say so by an event; the next statement fails.
    for (const client of [holder, maker]) client.on('error', () => undefined);
    if (!(await untilAborted(hasLock(holder), stop))) return false;
    await untilAborted(make(maker, tables), stop);
    await holder.query('COMMIT');
    return true;
  } finally {
    // Where something failed, the lock ends with its connection.
    holder?.release(true);
    maker?.release(true);
  }
}

/** Undefined if the pool has none to give. One that comes later is given back. */
async function second(pool: PostgresPool): Promise<PostgresClient | undefined> {
  const connecting = pool.connect?.();
  const soon = new AbortController();
  const client = await Promise.race([connecting, delay(SECOND_MS, undefined, { signal: soon.signal })]);
  soon.abort();
  if (client === undefined) connecting?.then((late) => late.release()).catch(() => undefined);
  return client;
}

/**
 * Whoever comes second asks for it again and again: one that waits for it in a statement would be waited for. Whatever the
 * default is, the transaction must not keep what it saw, or whoever makes an index waits for it. False where a pooler allows
 * no transactions.
 */
async function hasLock(client: PostgresClient): Promise<boolean> {
  for (;;) {
    try {
      await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
    } catch (error) {
      if (errorCode(error) === '08P01') return false;
      throw error;
    }
    await client.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    const { rows } = await client.query(`SELECT pg_try_advisory_xact_lock(${ADVISORY_LOCK}) AS mine`);
    if (rows[0]?.mine === true) return true;
    await client.query('ROLLBACK');
    await delay(TRY_AGAIN_MS);
  }
}

async function make(client: PostgresClient, tables: Tables): Promise<void> {
  await client.query(await functionText(client, tables));
  for (const index of indexesOf(tables)) {
    // One that cannot be used is what an attempt that was cut off has left, or an earlier version.
    const name = inSchema(tables, index.name);
    const { rows } = await client.query(`SELECT ${isUsable(tables)} AS usable
      FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid WHERE c.oid = to_regclass(${literal(name)})`);
    if (rows[0]?.usable === false) await client.query(`DROP INDEX CONCURRENTLY ${name}`);
    if (rows[0]?.usable !== true) await client.query(`CREATE INDEX CONCURRENTLY ${index.name} ON ${index.on}`);
  }
  for (const text of known(tables)) await client.query(text);
}

/** In one statement, so that any pool will do. Whoever writes waits for it. It waits for no lock: see `hasLock`. */
function allAtOnce(tables: Tables): string {
  const words = inSchema(tables, WORDS_INDEX);
  const indexes = indexesOf(tables).map(({ name, on }) => `CREATE INDEX IF NOT EXISTS ${name} ON ${on};`);
  return doBlock(`BEGIN
    IF NOT pg_try_advisory_xact_lock(${ADVISORY_LOCK}) THEN RAISE 'others make it' USING ERRCODE = '${BEING_MADE}'; END IF;
    EXECUTE (${functionSql(tables)});
    IF EXISTS (SELECT FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
      WHERE c.oid = to_regclass(${literal(words)}) AND NOT (${isUsable(tables)})) THEN DROP INDEX ${words}; END IF;
    ${indexes.join('\n')}
    ${known(tables).join(';')};
  END`);
}

/**
 * The planner has to know how many wait, or it sorts them all. How often each word occurs is too costly to find out, and
 * it need not know that: the index is asked only for what is not common.
 */
function known(tables: Tables): readonly string[] {
  return [
    `ALTER INDEX ${inSchema(tables, WORDS_INDEX)} ALTER COLUMN 1 SET STATISTICS 0`,
    `ANALYZE ${tables.interrupt}`,
  ];
}

/** The most that new questions may gather before they are put in their places, which those who search have to read. */
const GATHERED_KB = 256;

function indexesOf(tables: Tables): readonly { readonly name: string; readonly on: string }[] {
  const { interrupt } = tables;
  return [
    {
      name: WORDS_INDEX,
      on: `${interrupt} USING gin (${wordsOf(tables)}) WITH (gin_pending_list_limit = ${GATHERED_KB})
        WHERE settled_at IS NULL`,
    },
    {
      name: 'countersign_interrupt_starter_waiting',
      on: `${interrupt} (started_by, created_at, seq) WHERE settled_at IS NULL`,
    },
    {
      name: 'countersign_interrupt_starter_settled',
      on: `${interrupt} (started_by, created_at, seq) WHERE settled_at IS NOT NULL`,
    },
    {
      name: 'countersign_interrupt_settled_at',
      on: `${interrupt} (settled_at) WHERE settled_at IS NOT NULL`,
    },
  ];
}

const WORDS = 'countersign_words';

const WORDS_INDEX = 'countersign_interrupt_words';

/** The columns of a question that have its words. An earlier version had fewer: its function is another one. */
const PARAMETERS = [
  ['agent', 'text'],
  ['tool', 'text'],
  ['kind', 'text'],
  ['risk', 'text'],
  ['labels', 'text[]'],
  ['started_by', 'text'],
  ['card', 'text'],
] as const;

function inSchema({ schema }: Tables, name: string): string {
  return schema === undefined ? name : `${quoted(schema)}.${name}`;
}

async function functionText(client: PostgresClient, tables: Tables): Promise<string> {
  const { rows } = await client.query(`SELECT ${functionSql(tables)} AS text`);
  return rows[0]?.text;
}

/**
 * SQL for the text that makes the function: small letters are made by the rules of Unicode where the server has them,
 * whatever the database sorts by.
 */
function functionSql(tables: Tables): string {
  const [before = '', after = ''] = functionBody(tables).split('<collation>');
  return `${literal(before)} || quote_ident(coalesce((
      SELECT collname FROM pg_collation WHERE collname IN ('pg_c_utf8', 'und-x-icu')
        AND collencoding IN (-1, pg_char_to_encoding(getdatabaseencoding())) ORDER BY collname LIMIT 1
    ), 'default')) || ${literal(after)}`;
}

/**
 * Signs that stand between words for us, while PostgreSQL would see one long word, a number or an address, or, in a
 * database that sorts by bytes, take every sign beyond ASCII for a letter.
 */
const BETWEEN = [
  String.raw`\u0001-/:-@[-\u0060{-\u009f`,
  String.raw`\u00a0-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7`,
  String.raw`\u2000-\u206f\u20a0-\u20cf\u2190-\u245f\u2500-\u2775\u2794-\u2bff`,
  String.raw`\u3000-\u3004\u3008-\u3020\u3030\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65`,
].join('');

/** More of a question than that is not looked at; there is a limit to what an index can take. */
const MOST_CHARACTERS = 100_000;

/**
 * It must not fail, whatever the card: then the question could not be written. Who started the run, the kind and
 * the risk are among the words, in a form that no other word has.
 */
function functionBody(tables: Tables): string {
  const parameters = PARAMETERS.map((parameter) => parameter.join(' ')).join(', ');
  return String.raw`CREATE OR REPLACE FUNCTION ${inSchema(tables, WORDS)}(${parameters})
  RETURNS tsvector LANGUAGE plpgsql IMMUTABLE AS $words$
  DECLARE
    tags tsvector := array_to_tsvector(array_remove(
      ARRAY['=s' || md5(started_by), '=k' || md5(kind), '=r' || md5(risk)], NULL));
    part jsonb;
    shown text;
  BEGIN
    part := (CASE WHEN strpos(card, '\u') = 0 THEN card
      ELSE regexp_replace(card, '\\u(0000|d[89a-f][0-9a-f]{2})', '\\u0020', 'g') END)::jsonb -> 'part';
    SELECT string_agg(value #>> '{}', ' ') INTO shown
    FROM unnest(ARRAY[part #> '{toolRequest,input}', part #> '{metadata,interrupt}']) root,
      jsonb_path_query(root, 'strict $.** ? (@.type() == "string" || @.type() == "number")') value;
    shown := left(concat_ws(' ', agent, tool, array_to_string(labels, ' '), shown), ${MOST_CHARACTERS});
    shown := regexp_replace(lower(shown COLLATE <collation>), '[${BETWEEN}]+', ' ', 'g');
    RETURN tags || strip(to_tsvector('pg_catalog.simple'::regconfig, shown));
  EXCEPTION WHEN OTHERS THEN
    RETURN tags;
  END $words$`;
}
