// The sequence that numbers the runs. It must not be behind: events are found by the number of their run.
import { ProviderError } from '../../core/errors.ts';
import { ask, type PostgresPool, retrySerialization } from './pool.ts';

/** The names of the tables with sequences. */
type Numbered = { readonly run: string; readonly request: string; readonly note: string };

/**
 * Throws if the next run would get a number that is in use: logical replication copies rows but not sequences. Passes if
 * the user has no right to read the sequence.
 */
export async function checkSequences(pool: PostgresPool, tables: Numbered): Promise<void> {
  const { rows } = await retrySerialization(() => ask(pool, behindSql(tables), [tables.run]));
  if (rows.length === 0) return;
  const { most, last, name } = rows[0];
  if (last === '0' && (await isSetAhead(pool, name, most))) return;
  const set = (table: string, column: string): string =>
    `SELECT setval(pg_get_serial_sequence('${table.replaceAll("'", "''")}', '${column}'), max(${column})) FROM ${table};`;
  const message =
    `The runs in the database have numbers up to ${most}, but their sequence is at ${last}, as after a logical replication: ` +
    'new runs would be mixed up with others. Nothing was written. Set the sequences, as the owner of the tables: ' +
    [set(tables.run, 'seq'), set(tables.request, 'seq'), set(tables.note, 'version')].join(' ');
  throw new ProviderError('store-failed', { most, last }, message, { retryable: false });
}

function behindSql({ run }: Numbered): string {
  return `SELECT most::text, last::text, name FROM (
    SELECT name, (SELECT max(seq) FROM ${run}) AS most, CASE WHEN has_sequence_privilege(name, 'SELECT')
      THEN coalesce(pg_sequence_last_value(name::regclass), 0) END AS last
    FROM (SELECT pg_get_serial_sequence($1, 'seq') AS name) sequence
  ) numbers WHERE most > last`;
}

/** A sequence that was set and not used since, as by `setval(…, false)`, has no last value yet. */
async function isSetAhead(pool: PostgresPool, name: string, most: string): Promise<boolean> {
  const text = `SELECT NOT is_called AND last_value > $1::bigint AS ahead FROM ${name}`;
  const { rows } = await retrySerialization(() => ask(pool, text, [most]));
  return rows[0].ahead;
}
