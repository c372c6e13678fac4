// The numbers of the runs, which their events go by: they come from a sequence that must not be behind.
import { ProviderError } from '../../core/errors.ts';
import { ask, type PostgresPool, retrySerialization } from './pool.ts';

/** The names of the tables whose rows are numbered. */
type Numbered = { readonly run: string; readonly interrupt: string; readonly note: string };

/**
 * Throws if the next run would get a number that another has. A logical replication copies rows and no sequences. Who may
 * not look at the sequence, as one who only has rights on the tables, finds nothing.
 */
export async function checkNumbers(pool: PostgresPool, tables: Numbered): Promise<void> {
  const { rows } = await retrySerialization(() => ask(pool, behindSql(tables), [tables.run]));
  if (rows.length === 0) return;
  const { most, last, name } = rows[0];
  if (last === '0' && (await isSetAhead(pool, name, most))) return;
  const set = (table: string, column: string): string =>
    `SELECT setval(pg_get_serial_sequence('${table.replaceAll("'", "''")}', '${column}'), max(${column})) FROM ${table};`;
  const message =
    `The runs in the database have numbers up to ${most}, and their sequence is at ${last}, as after a logical replication: ` +
    'new runs would be mixed up with others. Nothing was written. Set the sequences, as the owner of the tables: ' +
    [set(tables.run, 'seq'), set(tables.interrupt, 'seq'), set(tables.note, 'version')].join(' ');
  throw new ProviderError('store-failed', { most, last }, message, { retryable: false });
}

function behindSql({ run }: Numbered): string {
  return `SELECT most::text, last::text, name FROM (
    SELECT name, (SELECT max(seq) FROM ${run}) AS most, CASE WHEN has_sequence_privilege(name, 'SELECT')
      THEN coalesce(pg_sequence_last_value(name::regclass), 0) END AS last
    FROM (SELECT pg_get_serial_sequence($1, 'seq') AS name) sequence
  ) numbers WHERE most > last`;
}

/** One that was set and not used since, as with `setval(…, false)`, has no last value: only it says where it goes on. */
async function isSetAhead(pool: PostgresPool, name: string, most: string): Promise<boolean> {
  const text = `SELECT NOT is_called AND last_value > $1::bigint AS ahead FROM ${name}`;
  const { rows } = await retrySerialization(() => ask(pool, text, [most]));
  return rows[0].ahead;
}
