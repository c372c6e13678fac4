// What searching on PostgreSQL needs, made beside the tables when it is asked for: a function that finds the words of a
// question, and indexes of the questions by their words, by who started their run, and by when they were settled.
import { setTimeout as delay } from 'node:timers/promises';
import type { PostgresClient, PostgresPool } from './postgres-pool.ts';
import { quoted, type Tables } from './postgres-schema.ts';

/** The words of a question, given how its columns are called. */
export function wordsOf(tables: Tables, prefix = ''): string {
  const columns = ['agent', 'tool', 'labels', 'started_by', 'card'].map((column) => `${prefix}${column}`);
  return `${inSchema(tables, WORDS)}(${columns.join(', ')})`;
}

/** Answers with one row, `prepared`. */
export function searchPreparedSql(tables: Tables): string {
  const names = indexesOf(tables).map(({ name }) => `'${name}'`);
  return `SELECT count(*) = ${names.length} AS prepared FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
    WHERE x.indrelid = '${tables.interrupt.replaceAll("'", "''")}'::regclass AND x.indisvalid
      AND c.relname IN (${names.join(', ')})`;
}

/** Others read and write meanwhile, if the pool has connections to give. */
export async function preparePostgresSearch(pool: PostgresPool, tables: Tables): Promise<void> {
  const { rows } = await pool.query(searchPreparedSql(tables), []);
  if (rows[0]?.prepared === true) return;
  if (pool.connect === undefined) {
    await pool.query(allAtOnce(tables), []);
    return;
  }
  const client = await pool.connect();
  try {
    await oneByOne(client, tables);
    client.release();
  } catch (error) {
    // It may hold the lock; that ends with the connection.
    client.release(true);
    throw error;
  }
}

/** Any number that others are unlikely to take: the bytes of "countersr". */
const ADVISORY_LOCK = '7165065861927432050';

const TRY_AGAIN_MS = 100;

/**
 * Without a transaction, since nobody shall wait for it. Two that do this at once would wait for each other in a circle,
 * as would one that waits for a lock in a statement; so whoever comes second asks for it again and again.
 */
async function oneByOne(client: PostgresClient, tables: Tables): Promise<void> {
  const isMine = async (): Promise<boolean> =>
    (await client.query(`SELECT pg_try_advisory_lock(${ADVISORY_LOCK}) AS mine`)).rows[0]?.mine === true;
  while (!(await isMine())) await delay(TRY_AGAIN_MS);
  await client.query(await functionText(client, tables));
  for (const index of indexesOf(tables)) {
    // One that is not valid is what an attempt that was cut off has left.
    const name = inSchema(tables, index.name);
    const { rows } = await client.query(`SELECT indisvalid AS valid FROM pg_index
      WHERE indexrelid = to_regclass('${name.replaceAll("'", "''")}')`);
    if (rows[0]?.valid === false) await client.query(`DROP INDEX CONCURRENTLY ${name}`);
    if (rows[0]?.valid !== true) await client.query(`CREATE INDEX CONCURRENTLY ${index.name} ON ${index.on}`);
  }
  await client.query(`SELECT pg_advisory_unlock(${ADVISORY_LOCK})`);
}

/** In one statement, so that any pool will do. Whoever writes waits for it. */
function allAtOnce(tables: Tables): string {
  const indexes = indexesOf(tables).map(({ name, on }) => `CREATE INDEX IF NOT EXISTS ${name} ON ${on};`);
  return `DO $countersign$ BEGIN
    PERFORM pg_advisory_xact_lock(${ADVISORY_LOCK});
    EXECUTE (${functionSql(tables)});
    ${indexes.join('\n')}
  END $countersign$`;
}

/** The most that new questions may gather before they are put in their places, which those who search have to read. */
const GATHERED_KB = 256;

function indexesOf(tables: Tables): readonly { readonly name: string; readonly on: string }[] {
  const { interrupt } = tables;
  return [
    {
      name: 'countersign_interrupt_words',
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
  const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
  const [before = '', after = ''] = functionBody(tables).split('<collation>');
  return `${literal(before)} || quote_ident(coalesce((
      SELECT collname FROM pg_collation WHERE collname IN ('pg_c_utf8', 'und-x-icu')
        AND collencoding IN (-1, pg_char_to_encoding(getdatabaseencoding())) ORDER BY collname LIMIT 1
    ), 'default')) || ${literal(after)}`;
}

/**
 * Signs that stand between words for us, while PostgreSQL would see one long word, a number or an address. In a database
 * that sorts by bytes it takes every sign beyond ASCII for a letter, so the usual ones of these are here as well.
 */
const BETWEEN = `-./@_&<>:+~'%#=?\\\u00a0\u00a1\u00a7\u00ab\u00b0\u00b7\u00bb\u00bf\u2013\u2014\u2018\u2019\u201a\u201c\u201d\u201e\u2022\u2026\u20ac\u2192\u3001\u3002\u300c\u300d\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f`;

/** More of a question than that is not looked at; there is a limit to what an index can take. */
const MOST_CHARACTERS = 100_000;

/**
 * It must not fail, whatever the card: then the question could not be written. Who started the run is one of the words,
 * in a form that no other word has. The cost keeps the planner from looking at every question instead of the index.
 */
function functionBody(tables: Tables): string {
  const spaces = ' '.repeat(BETWEEN.length);
  return `CREATE OR REPLACE FUNCTION ${inSchema(tables, WORDS)}(agent text, tool text, labels text[], started_by text, card text)
  RETURNS tsvector LANGUAGE plpgsql IMMUTABLE COST 10000 AS $words$
  DECLARE
    starter tsvector := CASE WHEN started_by IS NULL THEN '' ELSE array_to_tsvector(ARRAY['=' || md5(started_by)]) END;
    readable text := card;
    shown text;
  BEGIN
    IF strpos(card, '\\u') > 0 THEN
      readable := regexp_replace(card, '\\\\u(0000|d[89a-f][0-9a-f]{2})', '\\\\u0020', 'g');
    END IF;
    SELECT string_agg(value #>> '{}', ' ') INTO shown
    FROM unnest(ARRAY[readable::jsonb #> '{part,toolRequest,input}', readable::jsonb #> '{part,metadata,interrupt}']) root,
      jsonb_path_query(root, 'strict $.** ? (@.type() == "string" || @.type() == "number")') value;
    RETURN starter || strip(to_tsvector('pg_catalog.simple'::regconfig, translate(
      lower(left(concat_ws(' ', agent, tool, array_to_string(labels, ' '), shown), ${MOST_CHARACTERS}) COLLATE <collation>),
      '${BETWEEN.replaceAll("'", "''")}', '${spaces}')));
  EXCEPTION WHEN OTHERS THEN
    RETURN starter;
  END $words$`;
}
